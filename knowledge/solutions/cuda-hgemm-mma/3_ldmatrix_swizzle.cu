// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_ldmatrix_swizzle.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_ldmatrix_swizzle.cu --device emulated --set rows=64 --set depth=64 --set features=128
// ldmatrix brings four 8 x 8 tiles in one instruction (LDSM) where rung tensor-cores needs four loads each: 4 instead of 16
// for a step. Tiles are not padded but swizzled: the 16-byte piece c of row r lies at piece c ^ (r / 2 % 4), so that the
// eight rows of 64 bytes that one phase of ldmatrix reads fall on all 32 banks, and 20 % of the shared memory is saved.
// shows: HMMA.16816.F32 LDSM.16.M88.4
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = float16, in1 = float16, out0 = float16
// require: numel(in0) == M * K, numel(in1) == N * K
// require: M % 64 == 0, N % 64 == 0, K % 32 == 0
// launch: linear grid(N // 64, M // 64) block(128) args(in0, in1, out0, N, K)
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

__device__ int at(int row, int piece) { return row * 32 + (piece ^ (row / 2 % 4)) * 8; }  // in halves

extern "C" __global__ __launch_bounds__(128) void linear(const __half* x, const __half* w, __half* y, int n, int k) {
  __shared__ __align__(128) __half tx[64 * 32], tw[64 * 32];
  const int me = threadIdx.x, warp = me / 32, lane = me % 32, group = lane / 4, pair = lane % 4;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32;
  const __half* from_x = x + (size_t)blockIdx.y * 64 * k;
  const __half* from_w = w + (size_t)blockIdx.x * 64 * k;
  float sum[2][4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 32) {
#pragma unroll
    for (int i = me; i < 256; i += 128) {
      const int r = i / 4, c = i % 4;
      *reinterpret_cast<uint4*>(&tx[at(r, c)]) = *reinterpret_cast<const uint4*>(from_x + (size_t)r * k + k0 + 8 * c);
      *reinterpret_cast<uint4*>(&tw[at(r, c)]) = *reinterpret_cast<const uint4*>(from_w + (size_t)r * k + k0 + 8 * c);
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < 2; ++d) {  // 16 deep each: pieces 2 d and 2 d + 1
      unsigned a[2][4], b[2][4];   // b: two columns of tiles a load, {both depths of one, both of the other}
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrices(a[i], &tx[at(wm + 16 * i + lane % 16, 2 * d + lane / 16)]);
        load_matrices(b[i], &tw[at(wn + 16 * i + lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2)]);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) {
          const unsigned (&four)[4] = b[j / 2];
          const unsigned two[2] = {four[j % 2 * 2], four[j % 2 * 2 + 1]};
          mma(sum[i][j], a[i], two);
        }
    }
    __syncthreads();  // the tiles may be written again
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = blockIdx.y * 64 + wm + 16 * i + group + 8 * h, col = blockIdx.x * 64 + wn + 8 * j + 2 * pair;
        *reinterpret_cast<__half2*>(y + (size_t)row * n + col) = __floats2half2_rn(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
      }
}
