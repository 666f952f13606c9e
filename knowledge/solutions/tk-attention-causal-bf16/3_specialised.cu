// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 3_specialised.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 3_specialised.cu --device none
// Warp specialisation: one thread of a producer warpgroup keeps three pairs of key and value tiles coming by TMA (UTMALDG);
// two consumer warpgroups, 64 queries each, share them up to their diagonals and do nothing but wgmma (HGMMA) and softmax.
// shows: HGMMA UTMALDG UTMASTG MUFU.EX2
// language: thunderkittens
// architectures: sm_90a
// axes: B = in0[0], H = in0[1], S = in0[2]
// launch: attend grid(S // 128, H, B) block(384) shared(65 * 1024)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

using Tile = st_bf<64, 64>;
using Heads = gl<bf16, -1, -1, -1, 64, Tile>;
struct Globals {
  Heads q, k, v, o;
};
constexpr int STAGES = 3;
struct Pair {
  Tile k, v;
};
constexpr int SHARED = 2 * sizeof(Tile) + STAGES * sizeof(Pair) + 1024;

// Online softmax on 16 x 64 scores a warp: scores become weights, sum and the output so far are scaled down.
struct Running {
  rt_fl<16, 64>::col_vec top, sum;
};
__device__ void start(Running& r) {
  warp::neg_infty(r.top);
  warp::zero(r.sum);
}
__device__ void weigh(Running& r, rt_fl<16, 64>& scores, rt_fl<16, 64>& output) {
  const float scale = 1.4426950408889634f / 8;  // log2(e) / sqrt(64)
  rt_fl<16, 64>::col_vec shrink, scaled;
  warp::copy(shrink, r.top);
  warp::row_max(r.top, scores, r.top);
  warp::sub(shrink, shrink, r.top);
  warp::mul(shrink, shrink, scale);
  warp::exp2(shrink, shrink);
  warp::mul(scaled, r.top, scale);
  warp::mul(scores, scores, scale);
  warp::sub_row(scores, scores, scaled);
  warp::exp2(scores, scores);
  warp::mul(r.sum, r.sum, shrink);
  warp::row_sum(r.sum, scores, r.sum);
  warp::mul_row(output, output, shrink);
}

// Keys behind a query count as -inf; first: the row of the tile at which this warp's 16 queries begin.
__device__ void hide_later(rt_fl<16, 64>& scores, int first) {
  warp::apply(scores, scores, [first](int row, int col, float score) { return col <= row + first ? score : -INFINITY; });
}

__global__ __launch_bounds__(384) void attend(const __grid_constant__ Globals g) {
  extern __shared__ alignment_dummy raw[];
  tma_swizzle_allocator shared((int*)&raw[0]);
  Tile(&q)[2] = shared.allocate<Tile, 2>();
  Pair(&pairs)[STAGES] = shared.allocate<Pair, STAGES>();
  __shared__ semaphore queries, full[STAGES], empty[STAGES];
  if (threadIdx.x == 0) {
    init_semaphore(queries, 0, 1);
    for (int s = 0; s < STAGES; ++s) {
      init_semaphore(full[s], 0, 1);   // one thread expects the bytes
      init_semaphore(empty[s], 2, 0);  // two consumers let go
    }
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // TMA shall see the semaphores as they are now
  __syncthreads();
  const int batch = blockIdx.z, head = blockIdx.y, group = warpgroup::groupid();
  const int block = gridDim.x - 1 - blockIdx.x, tiles = 2 * block + 2;  // late queries have most tiles: they start first
  if (group == 2) {
    if (warpgroup::laneid() == 0) {
      tma::expect_bytes(queries, 2 * sizeof(Tile));
      for (int i = 0; i < 2; ++i) tma::load_async(q[i], g.q, {batch, head, block * 2 + i, 0}, queries);
      for (int tile = 0; tile < tiles; ++tile) {
        const int s = tile % STAGES;
        if (tile >= STAGES) wait(empty[s], (tile / STAGES + 1) % 2);  // its use before this one has been let go
        tma::expect_bytes(full[s], sizeof(Pair));
        tma::load_async(pairs[s].k, g.k, {batch, head, tile, 0}, full[s]);
        tma::load_async(pairs[s].v, g.v, {batch, head, tile, 0}, full[s]);
      }
    }
  } else {
    rt_fl<16, 64> scores, output;
    rt_bf<16, 64> weights;
    Running running;
    start(running);
    warp::zero(output);
    wait(queries, 0);
    for (int tile = 0; tile < tiles; ++tile) {
      const int s = tile % STAGES;
      wait(full[s], tile / STAGES % 2);
      if (tile <= 2 * block + group) {  // the last tile is behind all queries of the first group
        warpgroup::mm_ABt(scores, q[group], pairs[s].k);
        warpgroup::mma_async_wait();
        if (tile == 2 * block + group) hide_later(scores, warpid() % 4 * 16);  // the diagonal
        weigh(running, scores, output);
        warp::copy(weights, scores);
        warpgroup::mma_AB(output, weights, pairs[s].v);
        warpgroup::mma_async_wait();
      }
      if (warpgroup::laneid() == 0) arrive(empty[s]);
    }
    warp::div_row(output, output, running.sum);
    warpgroup::store(q[group], output);  // this group's queries are used up: their place takes the result
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // what this thread wrote, TMA may read
    warpgroup::sync(group + 1);
    if (warpgroup::laneid() == 0) {
      tma::store_async(g.o, q[group], {batch, head, block * 2 + group, 0});
      tma::store_async_wait();
    }
  }
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  const kw_tensor &q = in[0], &k = in[1], &v = in[2];
  NEEDS(q.dtype == KW_BFLOAT16 && k.dtype == KW_BFLOAT16 && v.dtype == KW_BFLOAT16, "bfloat16 q, k and v");
  NEEDS(q.ndim == 4 && k.ndim == 4 && v.ndim == 4, "[batch, heads, sequence, head dimension]");
  NEEDS(q.shape[3] == 64 && k.shape[3] == 64 && v.shape[3] == 64, "head dimension 64");
  const size_t B = q.shape[0], H = q.shape[1], S = q.shape[2], T = k.shape[2];
  NEEDS(k.shape[0] == B && k.shape[1] == H && v.shape[0] == B && v.shape[1] == H && v.shape[2] == T, "equal heads");
  NEEDS(S == T, "as many queries as keys");
  NEEDS(S > 0 && T > 0 && S % 128 == 0 && T % 64 == 0, "whole tiles of 128 queries and 64 keys");
  NEEDS(B > 0 && H > 0 && B <= 65535 && H <= 65535 && S < INT32_MAX && T < INT32_MAX, "a grid of tiles, heads and batches");
  for (const kw_tensor* t : {&q, &k, &v, (const kw_tensor*)&out[0]}) NEEDS(aligned(t->data, 16), "16-byte rows");
  Globals g{{(bf16*)q.data, B, H, S, nullptr}, {(bf16*)k.data, B, H, T, nullptr}, {(bf16*)v.data, B, H, T, nullptr},
            {(bf16*)out[0].data, B, H, S, nullptr}};
  cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
  attend<<<dim3(S / 128, H, B), 384, SHARED, (cudaStream_t)stream>>>(g);
  return launched();
}
