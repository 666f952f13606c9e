// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 3_grouped_order.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 3_grouped_order.cu --device none
// One change against 2_persistent.cu: the order of tiles. Those under way at one time lie in a patch of 8 columns, so that
// their operands are 8 columns of b and 17 rows of a instead of one column and all rows: what the L2 must hold falls.
// shows: HGMMA UTMALDG UTMASTG USETMAXREG
// language: thunderkittens
// architectures: sm_90a
// axes: M = in0[0], K = in0[1], N = in1[1]
// launch: matmul grid(min(N // 128 * (M // 128), 132)) block(384) shared(161 * 1024)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

using TileA = st_bf<64, 64>;
using TileB = st_bf<64, 128>;
using TileC = st_bf<64, 128>;
struct Globals {
  gl<bf16, 1, 1, -1, -1, TileA> a;
  gl<bf16, 1, 1, -1, -1, TileB> b;
  gl<bf16, 1, 1, -1, -1, TileC> c;
};
constexpr int STAGES = 4;
struct Stage {
  TileA a[2];  // one a consumer
  TileB b;     // for both
};
constexpr int SHARED = STAGES * sizeof(Stage) + 2 * sizeof(TileC) + 1024;

// Tiles in groups of 8 columns: 132 blocks that work at the same time share 8 columns of b and 17 rows of a.
struct Place {
  int row, col;
};
__device__ Place place(int tile, int down, int across) {
  const int first = tile / (8 * down) * 8, wide = min(8, across - first), inside = tile - first * down;
  return {inside / wide, first + inside % wide};
}

__global__ __launch_bounds__(384) void matmul(const __grid_constant__ Globals g) {
  extern __shared__ alignment_dummy raw[];
  tma_swizzle_allocator shared((int*)&raw[0]);
  Stage(&stages)[STAGES] = shared.allocate<Stage, STAGES>();
  TileC(&results)[2] = shared.allocate<TileC, 2>();
  __shared__ semaphore full[STAGES], empty[STAGES];
  if (threadIdx.x == 0)
    for (int s = 0; s < STAGES; ++s) {
      init_semaphore(full[s], 0, 1);   // one thread expects the bytes
      init_semaphore(empty[s], 2, 0);  // two consumers let go
    }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // TMA shall see the semaphores as they are now
  __syncthreads();
  const int steps = g.a.cols() / 64, group = warpgroup::groupid(), down = g.a.rows() / 128;
  const int across = g.b.cols() / 128, all = down * across;
  if (group == 2) {
    warpgroup::decrease_registers<40>();
    if (warpgroup::laneid() == 0)
      for (int tile = blockIdx.x, use = 0; tile < all; tile += gridDim.x) {
        const Place at = place(tile, down, across);
        for (int k = 0; k < steps; ++k, ++use) {  // use: of stages, counted through all tiles
          const int s = use % STAGES;
          if (use >= STAGES) wait(empty[s], (use / STAGES + 1) % 2);  // its use before this one has been let go
          tma::expect_bytes(full[s], sizeof(Stage));
          for (int i = 0; i < 2; ++i) tma::load_async(stages[s].a[i], g.a, {at.row * 2 + i, k}, full[s]);
          tma::load_async(stages[s].b, g.b, {k, at.col}, full[s]);
        }
      }
  } else {
    warpgroup::increase_registers<232>();
    rt_fl<16, 128> sum;
    for (int tile = blockIdx.x, use = 0; tile < all; tile += gridDim.x) {
      const Place at = place(tile, down, across);
      warp::zero(sum);
      for (int k = 0; k < steps; ++k, ++use) {
        const int s = use % STAGES;
        wait(full[s], use / STAGES % 2);
        warpgroup::mma_AB(sum, stages[s].a[group], stages[s].b);
        warpgroup::mma_async_wait();
        if (warpgroup::laneid() == 0) arrive(empty[s]);
      }
      if (warpgroup::laneid() == 0) tma::store_async_read_wait();  // the tile before has been read
      warpgroup::sync(group + 1);                                  // a named barrier a consumer
      warpgroup::store(results[group], sum);
      asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // what this thread wrote, TMA may read
      warpgroup::sync(group + 1);  // the tile is complete
      if (warpgroup::laneid() == 0) tma::store_async(g.c, results[group], {at.row * 2 + group, at.col});
    }
    if (warpgroup::laneid() == 0) tma::store_async_wait();
  }
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_BFLOAT16 && in[1].dtype == KW_BFLOAT16, "bfloat16 a and b");
  NEEDS(in[0].ndim == 2 && in[1].ndim == 2 && in[0].shape[1] == in[1].shape[0], "a: [M, K], b: [K, N]");
  const int64_t M = in[0].shape[0], N = in[1].shape[1], K = in[0].shape[1];
  NEEDS(M > 0 && N > 0 && K > 0 && M % 128 == 0 && N % 128 == 0 && K % 64 == 0, "whole tiles of 128 x 128 x 64");
  NEEDS(M < INT32_MAX && N < INT32_MAX && K < INT32_MAX && M / 128 * (N / 128) < INT32_MAX - 132, "32-bit counts");
  NEEDS(aligned(in[0].data, 16) && aligned(in[1].data, 16) && aligned(out[0].data, 16), "16-byte rows");
  Globals g{{(bf16*)in[0].data, nullptr, nullptr, size_t(M), size_t(K)},
            {(bf16*)in[1].data, nullptr, nullptr, size_t(K), size_t(N)},
            {(bf16*)out[0].data, nullptr, nullptr, size_t(M), size_t(N)}};
  cudaFuncSetAttribute(matmul, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
  const int64_t tiles = N / 128 * (M / 128);
  matmul<<<tiles < 132 ? tiles : 132, 384, SHARED, (cudaStream_t)stream>>>(g);  // one on each of an H100's multiprocessors
  return launched();
}
