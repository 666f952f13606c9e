// kernel: inclusive scan of a long vector: blocks, then their totals, then both added
// in: int32[1900]
// out: int32[1900]
// model: in0.cumsum()
// axes: N = in0[0]
// scratch: totals = int32[cdiv(N, 96)]
// launch: scan_blocks grid(cdiv(N, 96)) block(96) args(in0, out0, totals, N)
// launch: scan_totals grid(1) block(32) args(totals, cdiv(N, 96))
// launch: add_totals grid(cdiv(N, 96)) block(96) args(out0, totals, N)
__device__ int warp_scan(int v, int lane) {
  for (int d = 1; d < 32; d *= 2) {
    int u = __shfl_up_sync(0xffffffff, v, d);
    if (lane >= d) v += u;
  }
  return v;
}
extern "C" __global__ void scan_blocks(const int* in, int* out, int* totals, int n) {
  __shared__ int warps[3];
  int t = threadIdx.x, lane = t % 32, w = t / 32, i = blockIdx.x * 96 + t;
  int v = warp_scan(i < n ? in[i] : 0, lane);
  if (lane == 31) warps[w] = v;
  __syncthreads();
  for (int k = 0; k < w; k++) v += warps[k];
  if (i < n) out[i] = v;
  if (t == 95) totals[blockIdx.x] = v;
}
extern "C" __global__ void scan_totals(int* totals, int blocks) {
  int carry = 0, lane = threadIdx.x;
  for (int b = 0; b < blocks; b += 32) {
    int v = warp_scan(b + lane < blocks ? totals[b + lane] : 0, lane) + carry;
    if (b + lane < blocks) totals[b + lane] = v;
    carry = __shfl_sync(0xffffffff, v, 31);
  }
}
extern "C" __global__ void add_totals(int* out, const int* totals, int n) {
  int i = blockIdx.x * 96 + threadIdx.x;
  if (blockIdx.x > 0 && i < n) out[i] += totals[blockIdx.x - 1];
}
