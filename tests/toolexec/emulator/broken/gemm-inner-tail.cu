// kernel: matrix product in 16 x 16 tiles
// in: float32[19, 35], float32[35, 21]
// out: float32[19, 21]
// model: in0 @ in1
// tolerance: 1e-4
// fault: out-of-bounds
// axes: M = in0[0], K = in0[1], N = in1[1]
// launch: gemm grid(cdiv(N, 16), cdiv(M, 16)) block(16, 16) args(in0, in1, out0, M, N, K)
extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[16][16];
  __shared__ float bs[16][16];
  int tx = threadIdx.x, ty = threadIdx.y;
  int col = blockIdx.x * 16 + tx, row = blockIdx.y * 16 + ty;
  float acc = 0;
  for (int k0 = 0; k0 < k; k0 += 16) {
    as[ty][tx] = row < m ? a[row * k + k0 + tx] : 0;  // <- fault
    bs[ty][tx] = col < n ? b[(k0 + ty) * n + col] : 0;  // <- fault
    __syncthreads();
    for (int i = 0; i < 16; i++) acc += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = acc;
}
