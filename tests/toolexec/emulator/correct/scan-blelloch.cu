// kernel: exclusive scan of each row, up-sweep and down-sweep over 256 padded elements
// in: int32[5, 203]
// out: int32[5, 203]
// model: in0.cumsum(1) - in0
// axes: R = in0[0], C = in0[1]
// require: C <= 256
// launch: scan grid(R) block(128) args(in0, out0, C)
extern "C" __global__ void scan(const int* __restrict__ in, int* __restrict__ out, int cols) {
  __shared__ int s[256];
  const int t = threadIdx.x;
  in += blockIdx.x * cols;
  out += blockIdx.x * cols;
  s[t] = t < cols ? in[t] : 0;
  s[t + 128] = t + 128 < cols ? in[t + 128] : 0;
  int step = 1;
  for (int d = 128; d > 0; d >>= 1) {
    __syncthreads();
    if (t < d) s[step * (2 * t + 2) - 1] += s[step * (2 * t + 1) - 1];
    step <<= 1;
  }
  if (t == 0) s[255] = 0;  // written last by this thread, too
  for (int d = 1; d < 256; d <<= 1) {
    step >>= 1;
    __syncthreads();
    if (t < d) {
      int a = step * (2 * t + 1) - 1, b = step * (2 * t + 2) - 1;
      int left = s[a];
      s[a] = s[b];
      s[b] += left;
    }
  }
  __syncthreads();
  if (t < cols) out[t] = s[t];
  if (t + 128 < cols) out[t + 128] = s[t + 128];
}
