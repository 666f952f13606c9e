// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_tensor_cores.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_tensor_cores.cu --device emulated --set rows=64 --set depth=64 --set features=128
// Tensor cores: a warp multiplies 16 x 8 x 16 by one mma.sync (HMMA). 64 x 64 outputs a block of four warps, each 32 x 32.
// Operands come from shared memory by ordinary 4-byte loads where the instruction wants them: lane = 4 * group + pair holds
// rows group and group + 8, columns 2 * pair and 2 * pair + 8. Rows of 40 halves are 20 words: groups fall on other banks.
// shows: HMMA.16816.F32 LDS STS
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

extern "C" __global__ __launch_bounds__(128) void linear(const __half* x, const __half* w, __half* y, int n, int k) {
  __shared__ __align__(16) __half tx[64][40], tw[64][40];  // 32 deep and 8 of padding
  const int me = threadIdx.x, warp = me / 32, group = me % 32 / 4, pair = me % 4;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32;
  const __half* from_x = x + (size_t)blockIdx.y * 64 * k;
  const __half* from_w = w + (size_t)blockIdx.x * 64 * k;
  float sum[2][4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 32) {
#pragma unroll
    for (int i = me; i < 256; i += 128) {  // 16 bytes each: 64 rows of 4
      const int r = i / 4, c = i % 4 * 8;
      *reinterpret_cast<uint4*>(&tx[r][c]) = *reinterpret_cast<const uint4*>(from_x + (size_t)r * k + k0 + c);
      *reinterpret_cast<uint4*>(&tw[r][c]) = *reinterpret_cast<const uint4*>(from_w + (size_t)r * k + k0 + c);
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < 32; d += 16) {
      auto two = [&](const __half* at) { return *reinterpret_cast<const unsigned*>(at); };
      unsigned a[2][4], b[4][2];
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) a[i][j] = two(&tx[wm + 16 * i + group + j % 2 * 8][d + 2 * pair + j / 2 * 8]);
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 2; ++j) b[i][j] = two(&tw[wn + 8 * i + group][d + 2 * pair + 8 * j]);
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma(sum[i][j], a[i], b[j]);
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
