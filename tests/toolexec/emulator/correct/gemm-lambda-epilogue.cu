// kernel: matrix product with bias and ReLU, the epilogue a lambda
// in: float32[23, 31], float32[31, 19], float32[19]
// out: float32[23, 19]
// model: np.maximum(in0 @ in1 + in2, 0)
// tolerance: 1e-4
// axes: M = in0[0], K = in0[1], N = in1[1]
// launch: linear_relu grid(cdiv(N, 8), cdiv(M, 12)) block(8, 12) args(in0, in1, in2, out0, M, N, K)
template <class Epilogue>
__device__ void gemm(const float* a, const float* b, float* c, int m, int n, int k, Epilogue epilogue) {
  int col = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= m || col >= n) return;
  float acc = 0.f;
  for (int i = 0; i < k; ++i) acc = fmaf(a[row * k + i], b[i * n + col], acc);
  c[row * n + col] = epilogue(acc, col);
}
extern "C" __global__ void linear_relu(const float* a, const float* b, const float* bias, float* c, int m, int n, int k) {
  gemm(a, b, c, m, n, k, [=](float v, int col) { return fmaxf(v + bias[col], 0.f); });
}
