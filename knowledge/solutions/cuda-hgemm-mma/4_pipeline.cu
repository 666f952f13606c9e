// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 4_pipeline.cu -o k.cubin
// run: kernelwright evaluate reference.py 4_pipeline.cu --device emulated --set rows=128 --set depth=64 --set features=64
// Three stages by cp.async (LDGSTS): while one tile is multiplied two travel, past the registers, and one barrier a tile
// remains. The tile grows to 128 x 64 (eight warps) so that each byte of w is used 128 times.
// shows: HMMA.16816.F32 LDSM.16.M88.4 LDGSTS.E.BYPASS.128
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = float16, in1 = float16, out0 = float16
// require: numel(in0) == M * K, numel(in1) == N * K
// require: M % 128 == 0, N % 64 == 0, K % 32 == 0
// launch: linear grid(N // 64, M // 128) block(256) args(in0, in1, out0, N, K)
#include <cuda_fp16.h>

__device__ void mma(float (&d)[4], const unsigned (&a)[4], const unsigned (&b)[2]) {  // 16 x 8 outputs, 16 deep
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
               "{%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ void load_matrices(unsigned (&r)[4], const __half* row) {  // four 8 x 8 tiles; lane i names a row of tile i / 8
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(row)));
}

__device__ void copy16(__half* to, const __half* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
}

__device__ int at(int row, int piece) { return row * 32 + (piece ^ (row / 2 % 4)) * 8; }  // in halves

constexpr int STAGES = 3;

extern "C" __global__ __launch_bounds__(256) void linear(const __half* x, const __half* w, __half* y, int n, int k) {
  __shared__ __align__(128) __half tx[STAGES][128 * 32], tw[STAGES][64 * 32];
  const int me = threadIdx.x, warp = me / 32, lane = me % 32, group = lane / 4, pair = lane % 4;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32;
  const __half* from_x = x + (size_t)blockIdx.y * 128 * k + (size_t)(me / 4) * k + me % 4 * 8;
  const __half* from_w = w + (size_t)blockIdx.x * 64 * k + (size_t)(me / 4) * k + me % 4 * 8;
  auto fetch = [&](int stage, int k0) {  // always a group, perhaps an empty one: the count of the wait stays right
    if (k0 < k) {
      copy16(&tx[stage][at(me / 4, me % 4)], from_x + k0);
      copy16(&tx[stage][at(me / 4 + 64, me % 4)], from_x + (size_t)64 * k + k0);
      copy16(&tw[stage][at(me / 4, me % 4)], from_w + k0);
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  float sum[2][4][4] = {};
  for (int s = 0; s < STAGES - 1; ++s) fetch(s, 32 * s);
  for (int k0 = 0, stage = 0; k0 < k; k0 += 32, stage = (stage + 1) % STAGES) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();  // this stage has come for all, and nobody reads the one that is fetched next
    fetch((stage + STAGES - 1) % STAGES, k0 + 32 * (STAGES - 1));
#pragma unroll
    for (int d = 0; d < 2; ++d) {
      unsigned a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrices(a[i], &tx[stage][at(wm + 16 * i + lane % 16, 2 * d + lane / 16)]);
        load_matrices(b[i], &tw[stage][at(wn + 16 * i + lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2)]);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const unsigned two[2] = {b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]};
          mma(sum[i][j], a[i], two);
        }
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = blockIdx.y * 128 + wm + 16 * i + group + 8 * h, col = blockIdx.x * 64 + wn + 8 * j + 2 * pair;
        *reinterpret_cast<__half2*>(y + (size_t)row * n + col) = __floats2half2_rn(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
      }
}
