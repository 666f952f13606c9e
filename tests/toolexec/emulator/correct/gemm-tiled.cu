// kernel: matrix product in square tiles, guarded on every side
// in: float32[45, 37], float32[37, 50]
// out: float32[45, 50]
// model: in0 @ in1
// tolerance: 1e-4
// tunable TILE = 16 in {8, 16, 32}
// axes: M = in0[0], K = in0[1], N = in1[1]
// launch: gemm grid(cdiv(N, TILE), cdiv(M, TILE)) block(TILE, TILE) args(in0, in1, out0, M, N, K)
#ifndef TILE
#define TILE 16
#endif
extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float as[TILE][TILE], bs[TILE][TILE + 1];
  int tx = threadIdx.x, ty = threadIdx.y, col = blockIdx.x * TILE + tx, row = blockIdx.y * TILE + ty;
  float acc = 0;
  for (int k0 = 0; k0 < k; k0 += TILE) {
    as[ty][tx] = row < m && k0 + tx < k ? a[row * k + k0 + tx] : 0;
    bs[ty][tx] = col < n && k0 + ty < k ? b[(k0 + ty) * n + col] : 0;
    __syncthreads();
    for (int i = 0; i < TILE; i++) acc += as[ty][i] * bs[i][tx];
    __syncthreads();
  }
  if (row < m && col < n) c[row * n + col] = acc;
}
