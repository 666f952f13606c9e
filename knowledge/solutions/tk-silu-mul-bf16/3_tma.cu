// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 3_tma.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 3_tma.cu --device none
// Tiles come and go by TMA (UTMALDG, UTMASTG): each warp has two pairs of tiles in shared memory, one on its way while the
// other is worked on, and a launch has no more blocks than fit the device, each walking over the matrix.
// shows: UTMALDG UTMASTG MUFU.EX2
// language: thunderkittens
// architectures: sm_90a
// axes: R = in0[0], C = in0[1]
// launch: silu_mul_tiles grid(min(R // 64 * (C // 64), 528)) block(128) shared(33 * 1024)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

using Tile = st_bf<16, 64>;
using Matrix = gl<bf16, 1, 1, -1, -1, Tile>;
struct Globals {
  Matrix a, b, y;
};
constexpr int SHARED = 16 * sizeof(Tile) + 1024;  // and room to align

// a becomes silu(a) * b; where exp overflows the quotient is zero, as it should be.
__device__ void silu_mul(rt_fl<16, 64>& a, const rt_fl<16, 64>& b) {
  rt_fl<16, 64> below;
  warp::mul(below, a, -1.0f);
  warp::exp(below, below);
  warp::add(below, below, 1.0f);
  warp::div(a, a, below);
  warp::mul(a, a, b);
}

__global__ __launch_bounds__(128) void silu_mul_tiles(const __grid_constant__ Globals g) {
  extern __shared__ alignment_dummy raw[];
  tma_swizzle_allocator shared((int*)&raw[0]);
  Tile(&as)[4][2] = shared.allocate<Tile, 4, 2>();
  Tile(&bs)[4][2] = shared.allocate<Tile, 4, 2>();
  __shared__ semaphore arrived[4][2];
  if (threadIdx.x < 8) init_semaphore(arrived[threadIdx.x / 2][threadIdx.x % 2], 0, 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // TMA shall see the semaphores as they are now
  __syncthreads();
  const int me = warpid(), wide = g.a.cols() / 64, all = g.a.rows() / 16 * wide, stride = gridDim.x * 4;
  auto start = [&](int tile, int half) {  // one lane asks
    if (laneid() != 0 || tile >= all) return;
    tma::store_async_read_wait();  // the result that left from this half has been read
    tma::expect_bytes(arrived[me][half], 2 * sizeof(Tile));
    tma::load_async(as[me][half], g.a, {tile / wide, tile % wide}, arrived[me][half]);
    tma::load_async(bs[me][half], g.b, {tile / wide, tile % wide}, arrived[me][half]);
  };
  int tile = blockIdx.x * 4 + me;
  start(tile, 0);
  for (int step = 0; tile < all; ++step, tile += stride) {
    const int half = step % 2;
    start(tile + stride, 1 - half);
    wait(arrived[me][half], step / 2 % 2);
    rt_fl<16, 64> a, b;
    warp::load(a, as[me][half]);
    warp::load(b, bs[me][half]);
    silu_mul(a, b);
    warp::sync();
    warp::store(as[me][half], a);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // what this thread wrote, TMA may read
    warp::sync();
    if (laneid() == 0) tma::store_async(g.y, as[me][half], {tile / wide, tile % wide});
  }
  if (laneid() == 0) tma::store_async_wait();
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  for (int i = 0; i < 2; ++i) NEEDS(in[i].dtype == KW_BFLOAT16 && aligned(in[i].data, 16), "bfloat16, aligned to 16 bytes");
  NEEDS(in[0].ndim == 2 && in[1].ndim == 2, "two matrices");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(in[1].shape[0] == rows && in[1].shape[1] == cols, "of one shape");
  NEEDS(rows > 0 && cols > 0 && rows % 64 == 0 && cols % 64 == 0, "whole tiles of 64 x 64");
  NEEDS(rows <= 64 * 65535ll && cols < INT32_MAX && rows / 16 * (cols / 64) < INT32_MAX, "a grid of tiles");
  NEEDS(aligned(out[0].data, 16), "16-byte rows");
  auto matrix = [&](const kw_tensor& t) { return Matrix((bf16*)t.data, nullptr, nullptr, size_t(rows), size_t(cols)); };
  Globals g{matrix(in[0]), matrix(in[1]), matrix(out[0])};
  const int64_t tiles = rows / 64 * (cols / 64);
  silu_mul_tiles<<<tiles < 528 ? tiles : 528, 128, SHARED, (cudaStream_t)stream>>>(g);
  return launched();
}
