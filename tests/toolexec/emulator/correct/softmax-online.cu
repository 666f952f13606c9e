// kernel: softmax of each row in one pass over it, maximum and sum kept together
// in: float32[7, 301]
// out: float32[7, 301]
// model: np.exp(in0) / np.exp(in0).sum(1, keepdims=True)
// tolerance: 1e-5
// axes: R = in0[0], C = in0[1]
// launch: softmax grid(R) block(128) args(in0, out0, C)
struct MaxSum { float m, s; };
__device__ MaxSum merge(MaxSum a, MaxSum b) {
  float m = fmaxf(a.m, b.m);
  return {m, a.s * expf(a.m - m) + b.s * expf(b.m - m)};
}
extern "C" __global__ void softmax(const float* in, float* out, int cols) {
  __shared__ MaxSum red[128];
  const int t = threadIdx.x;
  const float* row = in + blockIdx.x * cols;
  MaxSum x{-1e30f, 0.f};
  for (int c = t; c < cols; c += 128) x = merge(x, {row[c], 1.f});
  red[t] = x;
  __syncthreads();
  for (int d = 64; d; d >>= 1) {
    if (t < d) red[t] = merge(red[t], red[t + d]);
    __syncthreads();
  }
  x = red[0];
  for (int c = t; c < cols; c += 128) out[blockIdx.x * cols + c] = expf(row[c] - x.m) / x.s;
}
