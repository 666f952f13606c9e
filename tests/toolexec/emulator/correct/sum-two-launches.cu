// kernel: sum of all, partial sums first
// in: float32[10007]
// out: float32[1]
// model: in0.sum(dtype=np.float64, keepdims=True)
// tolerance: 1e-3
// axes: N = in0[0]
// scratch: partial = float32[cdiv(N, 1000)]
// launch: chunk_sums grid(cdiv(N, 1000)) block(100) args(in0, partial, N)
// launch: finish grid(1) block(32) args(partial, out0, cdiv(N, 1000))
__device__ float warp_sum(float v) {
  for (int d = 16; d; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  return v;
}
extern "C" __global__ void chunk_sums(const float* in, float* partial, int n) {
  __shared__ float s[100];
  int t = threadIdx.x, end = min(n, (int(blockIdx.x) + 1) * 1000);
  float v = 0;
  for (int i = blockIdx.x * 1000 + t; i < end; i += 100) v += in[i];
  s[t] = v;
  __syncthreads();
  if (t < 32) {  // 100 threads: the last warp has only four, so the first sums for all
    v = s[t] + s[t + 32] + s[t + 64] + (t < 4 ? s[t + 96] : 0);
    v = warp_sum(v);
    if (t == 0) partial[blockIdx.x] = v;
  }
}
extern "C" __global__ void finish(const float* partial, float* out, int chunks) {
  float v = 0;
  for (int i = threadIdx.x; i < chunks; i += 32) v += partial[i];
  v = warp_sum(v);
  if (threadIdx.x == 0) *out = v;
}
