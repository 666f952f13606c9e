// kernel: A times B transposed, 32 x 32 a block, 4 x 4 a thread
// in: float32[70, 29], float32[41, 29]
// out: float32[70, 41]
// model: in0 @ in1.T
// tolerance: 1e-4
// axes: M = in0[0], K = in0[1], N = in1[0]
// launch: gemm_nt grid(cdiv(N, 32), cdiv(M, 32)) block(64) args(in0, in1, out0, M, N, K)
extern "C" __global__ void gemm_nt(const float* a, const float* b, float* c, int m, int n, int k) {
  constexpr int T = 32, KT = 8;
  __shared__ float as[KT][T], bs[KT][T];
  int t = threadIdx.x, tx = t % 8, ty = t / 8, m0 = blockIdx.y * T, n0 = blockIdx.x * T;
  float acc[4][4] = {};
  for (int k0 = 0; k0 < k; k0 += KT) {
    for (int j = t; j < T * KT; j += 64) {
      int r = j / KT, kk = j % KT;
      as[kk][r] = m0 + r < m && k0 + kk < k ? a[(m0 + r) * k + k0 + kk] : 0.f;
      bs[kk][r] = n0 + r < n && k0 + kk < k ? b[(n0 + r) * k + k0 + kk] : 0.f;
    }
    __syncthreads();
#pragma unroll
    for (int kk = 0; kk < KT; ++kk) {
      float x[4], y[4];
      for (int i = 0; i < 4; ++i) {
        x[i] = as[kk][ty * 4 + i];
        y[i] = bs[kk][tx + 8 * i];
      }
      for (int i = 0; i < 4; ++i)
        for (int j = 0; j < 4; ++j) acc[i][j] += x[i] * y[j];
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      int row = m0 + ty * 4 + i, col = n0 + tx + 8 * j;
      if (row < m && col < n) c[row * n + col] = acc[i][j];
    }
}
