// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 4_pipeline.cu -o k.cubin
// run: kernelwright evaluate reference.py 4_pipeline.cu --device emulated --set tokens=70 --set depth=64 --set features=64
// Three stages by cp.async (LDGSTS): gathering is nothing but another address for each copy, and a copy of no bytes fills its
// place with zeros, so that missing tokens need no branch. Two tiles travel while one is multiplied.
// shows: ATOMS HMMA.16816.F32 LDSM.16.M88.4 LDGSTS.E.BYPASS.128
// language: cuda
// axes: T = in0[0], K = in0[1], E = in1[0], N = in1[1], TILES = cdiv(T, 64) + E
// dtypes: in0 = float16, in1 = float16, in2 = int32, out0 = float16
// require: in1[2] == K, numel(in2) == T, E <= 256, TILES <= 65535, N % 64 == 0, K % 32 == 0
// scratch: order = int32[TILES * 64]
// scratch: owner = int32[TILES]
// launch: arrange grid(1) block(256) args(in2, order, owner, T, E, TILES)
// launch: multiply grid(N // 64, TILES) block(128) args(in0, in1, order, owner, out0, N, K)
#include <cuda_fp16.h>

constexpr int TILE = 64, STAGES = 3;

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

__device__ void copy16(__half* to, const __half* from, bool there) {  // zeros where nothing is there
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
               "r"(there ? 16 : 0)
               : "memory");
}

__device__ int at(int row, int piece) { return row * 32 + (piece ^ (row / 2 % 4)) * 8; }  // in halves

extern "C" __global__ __launch_bounds__(128) void multiply(const __half* x, const __half* w, const int* order,
                                                           const int* owner, __half* y, int n, int k) {
  __shared__ __align__(128) __half tx[STAGES][TILE * 32], tw[STAGES][64 * 32];
  const int e = owner[blockIdx.y], me = threadIdx.x, warp = me / 32, lane = me % 32, group = lane / 4, pair = lane % 4;
  if (e < 0) return;
  const int wm = warp / 2 * 32, wn = warp % 2 * 32, row = me / 4, piece = me % 4;
  const int* rows = order + blockIdx.y * TILE;
  const int token[2] = {rows[row], rows[row + 32]};
  const __half* from_x[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) from_x[i] = x + (size_t)max(token[i], 0) * k + piece * 8;
  const __half* from_w = w + ((size_t)e * n + blockIdx.x * 64 + row) * k + piece * 8;
  auto fetch = [&](int stage, int k0) {  // always a group, perhaps an empty one: the count of the wait stays right
    if (k0 < k)
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        copy16(&tx[stage][at(row + 32 * i, piece)], from_x[i] + k0, token[i] >= 0);
        copy16(&tw[stage][at(row + 32 * i, piece)], from_w + (size_t)32 * i * k + k0, true);
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
        for (int j = 0; j < 4; ++j) mma(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
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
