// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 2_register_tile.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 2_register_tile.cu --device none
// The whole of 16 rows stays in the registers of a warp, 16 x C values: read once, written once, one exp an element. The
// width is a template parameter: 64, 128 or 256 columns.
// shows: MUFU.EX2
// language: thunderkittens
// architectures: sm_90a
// axes: R = in0[0], C = in0[1]
// launch: softmaxILi256E grid(R // 64) block(128)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

template <int C>
struct Globals {
  gl<bf16, 1, 1, -1, C> x, y;
};

template <int C>
__global__ __launch_bounds__(128) void softmax(const __grid_constant__ Globals<C> g) {
  const int row = blockIdx.x * 4 + warpid();
  rt_fl<16, C> tile;
  typename rt_fl<16, C>::col_vec top, sum;
  warp::load(tile, g.x, {row, 0});
  warp::row_max(top, tile);
  warp::sub_row(tile, tile, top);
  warp::exp(tile, tile);
  warp::row_sum(sum, tile);
  warp::div_row(tile, tile, sum);
  warp::store(g.y, tile, {row, 0});
}

template <int C>
int launch(const kw_tensor& x, const kw_tensor& y, cudaStream_t stream) {
  const size_t rows = x.shape[0];
  Globals<C> g{{(bf16*)x.data, nullptr, nullptr, rows, nullptr}, {(bf16*)y.data, nullptr, nullptr, rows, nullptr}};
  softmax<C><<<rows / 64, 128, 0, stream>>>(g);
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
