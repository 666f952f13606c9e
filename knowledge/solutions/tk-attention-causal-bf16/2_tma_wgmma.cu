// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 2_tma_wgmma.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 2_tma_wgmma.cu --device none
// A warpgroup 64 queries: TMA (UTMALDG) brings keys and values once for its four warps into swizzled shared memory, wgmma
// (HGMMA) reads them there; the weights go from registers straight into the second product.
// shows: HGMMA UTMALDG MUFU.EX2
// language: thunderkittens
// architectures: sm_90a
// axes: B = in0[0], H = in0[1], S = in0[2]
// launch: attend grid(S // 64, H, B) block(128) shared(25 * 1024)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

using Tile = st_bf<64, 64>;
using Heads = gl<bf16, -1, -1, -1, 64, Tile>;
struct Globals {
  Heads q, k, v, o;
};
constexpr int SHARED = 3 * sizeof(Tile) + 1024;

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

__global__ __launch_bounds__(128) void attend(const __grid_constant__ Globals g) {
  extern __shared__ alignment_dummy raw[];
  tma_swizzle_allocator shared((int*)&raw[0]);
  Tile& q = shared.allocate<Tile>();
  Tile& k = shared.allocate<Tile>();
  Tile& v = shared.allocate<Tile>();
  __shared__ semaphore arrived;
  if (threadIdx.x == 0) init_semaphore(arrived, 0, 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // TMA shall see the semaphores as they are now
  __syncthreads();
  const int batch = blockIdx.z, head = blockIdx.y, at = blockIdx.x;
  rt_fl<16, 64> scores, output;
  rt_bf<16, 64> weights;
  Running running;
  start(running);
  warp::zero(output);
  for (int tile = 0; tile <= at; ++tile) {  // keys of later tiles are behind all 64 queries
    if (threadIdx.x == 0) {
      tma::expect_bytes(arrived, (tile == 0 ? 3 : 2) * sizeof(Tile));
      if (tile == 0) tma::load_async(q, g.q, {batch, head, at, 0}, arrived);
      tma::load_async(k, g.k, {batch, head, tile, 0}, arrived);
      tma::load_async(v, g.v, {batch, head, tile, 0}, arrived);
    }
    wait(arrived, tile % 2);
    warpgroup::mm_ABt(scores, q, k);
    warpgroup::mma_async_wait();
    if (tile == at) hide_later(scores, warpid() * 16);  // the diagonal
    weigh(running, scores, output);
    warp::copy(weights, scores);
    warpgroup::mma_AB(output, weights, v);
    warpgroup::mma_async_wait();
    __syncthreads();  // all four warps are through: the tiles may be overwritten
  }
  warp::div_row(output, output, running.sum);
  warpgroup::store(g.o, output, {batch, head, at, 0});
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  const kw_tensor &q = in[0], &k = in[1], &v = in[2];
  NEEDS(q.dtype == KW_BFLOAT16 && k.dtype == KW_BFLOAT16 && v.dtype == KW_BFLOAT16, "bfloat16 q, k and v");
  NEEDS(q.ndim == 4 && k.ndim == 4 && v.ndim == 4, "[batch, heads, sequence, head dimension]");
  NEEDS(q.shape[3] == 64 && k.shape[3] == 64 && v.shape[3] == 64, "head dimension 64");
  const size_t B = q.shape[0], H = q.shape[1], S = q.shape[2], T = k.shape[2];
  NEEDS(k.shape[0] == B && k.shape[1] == H && v.shape[0] == B && v.shape[1] == H && v.shape[2] == T, "equal heads");
  NEEDS(S == T, "as many queries as keys");
  NEEDS(S > 0 && T > 0 && S % 64 == 0 && T % 64 == 0, "whole tiles of 64 queries and 64 keys");
  NEEDS(B > 0 && H > 0 && B <= 65535 && H <= 65535 && S < INT32_MAX && T < INT32_MAX, "a grid of tiles, heads and batches");
  for (const kw_tensor* t : {&q, &k, &v, (const kw_tensor*)&out[0]}) NEEDS(aligned(t->data, 16), "16-byte rows");
  Globals g{{(bf16*)q.data, B, H, S, nullptr}, {(bf16*)k.data, B, H, T, nullptr}, {(bf16*)v.data, B, H, T, nullptr},
            {(bf16*)out[0].data, B, H, S, nullptr}};
  cudaFuncSetAttribute(attend, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
  attend<<<dim3(S / 64, H, B), 128, SHARED, (cudaStream_t)stream>>>(g);
  return launched();
}
