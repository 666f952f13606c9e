// kernel: matrix product in 16 x 16 tiles
// in: float32[40, 50], float32[50, 36]
// out: float32[40, 36]
// model: in0 @ in1
// tolerance: 1e-4
// fault: race
// axes: M = in0[0], K = in0[1], N = in1[1]
// launch: gemm grid(cdiv(N, 16), cdiv(M, 16)) block(16, 16) args(in0, in1, out0, M, N, K)
#define T 16
extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[T][T], bs[T][T];
  int tx = threadIdx.x, ty = threadIdx.y;
  int col = blockIdx.x * T + tx, row = blockIdx.y * T + ty;
  float acc = 0.f;
  for (int k0 = 0; k0 < k; k0 += T) {
    as[ty][tx] = row < m && k0 + tx < k ? a[row * k + k0 + tx] : 0.f;  // <- fault
    bs[ty][tx] = col < n && k0 + ty < k ? b[(k0 + ty) * n + col] : 0.f;  // <- fault
    __syncthreads();
    for (int i = 0; i < T; ++i)
      acc += as[ty][i] * bs[i][tx];  // <- fault
  }
  if (row < m && col < n) c[row * n + col] = acc;
}
