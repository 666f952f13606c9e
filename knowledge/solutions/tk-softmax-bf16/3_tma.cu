// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 3_tma.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 3_tma.cu --device none
// Tiles come and go by TMA (UTMALDG, UTMASTG): each warp has two tiles in shared memory, one on its way while the other is
// worked on, and a launch has no more blocks than fit the device, each walking over the rows.
// shows: UTMALDG UTMASTG MUFU.EX2
// language: thunderkittens
// architectures: sm_90a
// axes: R = in0[0], C = in0[1]
// launch: softmaxILi256E grid(min(R // 64, 264)) block(128) shared(8 * 16 * C * 2 + 1024)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

template <int C>
using Tile = st_bf<16, C>;
template <int C>
struct Globals {
  gl<bf16, 1, 1, -1, C, Tile<C>> x, y;
};
template <int C>
constexpr int SHARED = 4 * 2 * sizeof(Tile<C>) + 1024;

template <int C>
__global__ __launch_bounds__(128, 2) void softmax(const __grid_constant__ Globals<C> g) {
  extern __shared__ alignment_dummy raw[];
  tma_swizzle_allocator shared((int*)&raw[0]);
  Tile<C>(&tiles)[4][2] = shared.template allocate<Tile<C>, 4, 2>();
  __shared__ semaphore arrived[4][2];
  if (threadIdx.x < 8) init_semaphore(arrived[threadIdx.x / 2][threadIdx.x % 2], 0, 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // TMA shall see the semaphores as they are now
  __syncthreads();
  const int me = warpid(), all = g.x.rows() / 16, stride = gridDim.x * 4;
  auto start = [&](int row, int half) {  // one lane asks; row is counted in tiles of 16
    if (laneid() != 0 || row >= all) return;
    tma::store_async_read_wait();  // the result that left from this half has been read
    tma::expect_bytes(arrived[me][half], sizeof(Tile<C>));
    tma::load_async(tiles[me][half], g.x, {row, 0}, arrived[me][half]);
  };
  int row = blockIdx.x * 4 + me;
  start(row, 0);
  for (int step = 0; row < all; ++step, row += stride) {
    const int half = step % 2;
    start(row + stride, 1 - half);
    wait(arrived[me][half], step / 2 % 2);
    rt_fl<16, C> tile;
    typename rt_fl<16, C>::col_vec top, sum;
    warp::load(tile, tiles[me][half]);
    warp::row_max(top, tile);
    warp::sub_row(tile, tile, top);
    warp::exp(tile, tile);
    warp::row_sum(sum, tile);
    warp::div_row(tile, tile, sum);
    warp::sync();
    warp::store(tiles[me][half], tile);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // what this thread wrote, TMA may read
    warp::sync();
    if (laneid() == 0) tma::store_async(g.y, tiles[me][half], {row, 0});
  }
  if (laneid() == 0) tma::store_async_wait();
}

template <int C>
int launch(const kw_tensor& x, const kw_tensor& y, cudaStream_t stream) {
  const size_t rows = x.shape[0];
  Globals<C> g{{(bf16*)x.data, nullptr, nullptr, rows, nullptr}, {(bf16*)y.data, nullptr, nullptr, rows, nullptr}};
  cudaFuncSetAttribute(softmax<C>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED<C>);
  const int blocks = rows / 64 < 264 ? rows / 64 : 264;  // two on each of an H100's 132 multiprocessors
  softmax<C><<<blocks, 128, SHARED<C>, stream>>>(g);
  return launched();
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_BFLOAT16, "bfloat16 only");
  NEEDS(in[0].ndim == 2, "one matrix, softmax along its last axis");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows > 0 && rows % 64 == 0 && rows < INT32_MAX, "whole tiles: rows a multiple of 64");
  NEEDS(cols == 64 || cols == 128 || cols == 256, "a row in registers: 64, 128 or 256 columns");
  NEEDS(aligned(in[0].data, 16) && aligned(out[0].data, 16), "16-byte rows");
  switch (cols) {
    case 64: return launch<64>(in[0], out[0], (cudaStream_t)stream);
    case 128: return launch<128>(in[0], out[0], (cudaStream_t)stream);
    case 256: return launch<256>(in[0], out[0], (cudaStream_t)stream);
  }
  return launched();
}
