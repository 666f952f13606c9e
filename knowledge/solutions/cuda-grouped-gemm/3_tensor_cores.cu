// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_tensor_cores.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_tensor_cores.cu --device emulated --set tokens=70 --set depth=64 --set features=64
// The same list with tiles of 64 tokens and tensor cores: mma.sync (HMMA) from swizzled tiles by ldmatrix (LDSM), as in
// cuda-hgemm-mma. A thread brings the same two rows of x in every step, so it looks their tokens up once; places without a
// token are zeros. Small experts waste part of a tile: 64 is as large as that allows.
// shows: ATOMS HMMA.16816.F32 LDSM.16.M88.4 LDG.E.128
// language: cuda
// axes: T = in0[0], K = in0[1], E = in1[0], N = in1[1], TILES = cdiv(T, 64) + E
// dtypes: in0 = float16, in1 = float16, in2 = int32, out0 = float16
// require: in1[2] == K, numel(in2) == T, E <= 256, TILES <= 65535, N % 64 == 0, K % 32 == 0
// scratch: order = int32[TILES * 64]
// scratch: owner = int32[TILES]
// launch: arrange grid(1) block(256) args(in2, order, owner, T, E, TILES)
// launch: multiply grid(N // 64, TILES) block(128) args(in0, in1, order, owner, out0, N, K)
#include <cuda_fp16.h>

constexpr int TILE = 64;

// Tokens by expert: tile i belongs to expert owner[i] (-1: to nobody) and has the tokens order[TILE i ..] (-1: no token).
extern "C" __global__ __launch_bounds__(256) void arrange(const int* expert, int* order, int* owner, int tokens, int experts,
                                                          int tiles) {
  __shared__ int count[256], next[256];
  const int me = threadIdx.x;
  count[me] = 0;
  for (int i = me; i < tiles * TILE; i += 256) order[i] = -1;
  for (int i = me; i < tiles; i += 256) owner[i] = -1;
  __syncthreads();
  for (int i = me; i < tokens; i += 256) atomicAdd(&count[expert[i]], 1);
  __syncthreads();
  if (me == 0)
    for (int e = 0, tile = 0; e < experts; ++e) {
      next[e] = tile * TILE;
      for (const int end = tile + (count[e] + TILE - 1) / TILE; tile < end; ++tile) owner[tile] = e;
    }
  __syncthreads();
  for (int i = me; i < tokens; i += 256) order[atomicAdd(&next[expert[i]], 1)] = i;
}

__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {  // 16 x 8 outputs, 16 deep
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
               "{%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void load_matrices(unsigned (&r)[4], const __half* row) {  // four 8 x 8 tiles; lane i names a row of tile i / 8
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(row)));
}

__device__ int at(int row, int piece) { return row * 32 + (piece ^ (row / 2 % 4)) * 8; }  // in halves

extern "C" __global__ __launch_bounds__(128, 6) void multiply(const __half* x, const __half* w, const int* order,
                                                           const int* owner, __half* y, int n, int k) {
  __shared__ __align__(128) __half tx[TILE * 32], tw[64 * 32];
  const int e = owner[blockIdx.y], me = threadIdx.x, warp = me / 32, lane = me % 32, group = lane / 4, pair = lane % 4;
  if (e < 0) return;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32, row = me / 4, piece = me % 4;
  const int* rows = order + blockIdx.y * TILE;
  const int token[2] = {rows[row], rows[row + 32]};
  const __half* from_w = w + ((size_t)e * n + blockIdx.x * 64 + row) * k + piece * 8;
  float sum[2][4][4] = {};
  for (int k0 = 0; k0 < k; k0 += 32) {
#pragma unroll
    for (int i = 0; i < 2; ++i) {
      uint4 held = make_uint4(0, 0, 0, 0);
      if (token[i] >= 0) held = *reinterpret_cast<const uint4*>(x + (size_t)token[i] * k + k0 + piece * 8);
      *reinterpret_cast<uint4*>(&tx[at(row + 32 * i, piece)]) = held;
      *reinterpret_cast<uint4*>(&tw[at(row + 32 * i, piece)]) =
          *reinterpret_cast<const uint4*>(from_w + (size_t)32 * i * k + k0);
    }
    __syncthreads();
#pragma unroll
    for (int d = 0; d < 2; ++d) {  // 16 deep each: pieces 2 d and 2 d + 1
      unsigned a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrices(a[i], &tx[at(wm + 16 * i + lane % 16, 2 * d + lane / 16)]);
        load_matrices(b[i], &tw[at(wn + 16 * i + lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2)]);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
    __syncthreads();  // the tiles may be written again
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const int t = rows[wm + 16 * i + group + 8 * h];
      __half* to = y + (size_t)t * n + blockIdx.x * 64 + wn + 2 * pair;
      if (t >= 0)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          *reinterpret_cast<__half2*>(to + 8 * j) = __floats2half2_rn(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
    }
}
