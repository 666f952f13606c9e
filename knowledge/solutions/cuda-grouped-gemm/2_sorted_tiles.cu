// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_sorted_tiles.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_sorted_tiles.cu --device emulated --set tokens=40 --set depth=20 --set features=40
// Tokens are sorted by expert first (one block counts, cuts each expert's tokens into tiles of 32, writes who is where); then
// one launch multiplies all tiles of all experts, gathering rows of x and scattering rows of y by that list. What is read of w
// serves 32 tokens. As many blocks as there can be tiles at most: those without an owner end at once.
// shows: ATOMS LDS STS FFMA BAR.SYNC
// language: cuda
// axes: T = in0[0], K = in0[1], E = in1[0], N = in1[1], TILES = cdiv(T, 32) + E
// dtypes: in0 = float16, in1 = float16, in2 = int32, out0 = float16
// require: in1[2] == K, numel(in2) == T, E <= 256, TILES <= 65535
// scratch: order = int32[TILES * 32]
// scratch: owner = int32[TILES]
// launch: arrange grid(1) block(256) args(in2, order, owner, T, E, TILES)
// launch: multiply grid(cdiv(N, 32), TILES) block(32, 8) args(in0, in1, order, owner, out0, N, K)
#include <cuda_fp16.h>

constexpr int TILE = 32;

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

extern "C" __global__ __launch_bounds__(256) void multiply(const __half* x, const __half* w, const int* order,
                                                           const int* owner, __half* y, int n, int k) {
  __shared__ float tx[32][33], tw[32][33];
  const int e = owner[blockIdx.y], col0 = blockIdx.x * 32, lane = threadIdx.x;
  if (e < 0) return;
  const int* rows = order + blockIdx.y * TILE;
  const __half* of_expert = w + (size_t)e * n * k;
  float sum[4] = {};
  for (int k0 = 0; k0 < k; k0 += 32) {
    const int d = k0 + lane;
#pragma unroll
    for (int i = threadIdx.y; i < 32; i += 8) {
      const int t = rows[i];
      tx[i][lane] = t >= 0 && d < k ? __half2float(x[(size_t)t * k + d]) : 0.0f;
      tw[i][lane] = col0 + i < n && d < k ? __half2float(of_expert[(size_t)(col0 + i) * k + d]) : 0.0f;
    }
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < 32; ++i) {
      const float b = tw[lane][i];
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[j] += tx[threadIdx.y + 8 * j][i] * b;
    }
    __syncthreads();  // the tiles may be written again
  }
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int t = rows[threadIdx.y + 8 * j];
    if (t >= 0 && col0 + lane < n) y[(size_t)t * n + col0 + lane] = __float2half(sum[j]);
  }
}
