// kernel: half-precision matrix product on tensor cores, one warp a 16 x 16 tile
// in: float16[48, 64], float16[64, 32]
// out: float32[48, 32]
// model: in0.astype(np.float32) @ in1.astype(np.float32)
// tolerance: 1e-3
// axes: M = in0[0], K = in0[1], N = in1[1]
// require: M % 16 == 0, N % 16 == 0, K % 16 == 0
// launch: gemm grid(N // 16, M // 16) block(32) args(in0, in1, out0, N, K)
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
extern "C" __global__ void gemm(const half* a, const half* b, float* c, int n, int k) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, half, wmma::row_major> fa;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, half, wmma::row_major> fb;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> acc;
  wmma::fill_fragment(acc, 0.0f);
  int row = blockIdx.y * 16, col = blockIdx.x * 16;
  for (int i = 0; i < k; i += 16) {
    wmma::load_matrix_sync(fa, a + row * k + i, k);
    wmma::load_matrix_sync(fb, b + i * n + col, n);
    wmma::mma_sync(acc, fa, fb, acc);
  }
  wmma::store_matrix_sync(c + row * n + col, acc, n, wmma::mem_row_major);
}
