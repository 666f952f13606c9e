// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 1_streamed_tiles.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 1_streamed_tiles.cu --device none
// softmax(x) along rows of a bfloat16 matrix. A warp takes 16 rows and walks over them in register tiles of 16 x 64, twice:
// once for largest and sum (online softmax), once to write. Any number of columns that is a multiple of 64.
// shows: MUFU.EX2 SHFL
// language: thunderkittens
// architectures: sm_90a
// axes: R = in0[0], C = in0[1]
// launch: softmax grid(R // 64) block(128)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

using Matrix = gl<bf16, 1, 1, -1, -1>;
struct Globals {
  Matrix x, y;
};

__global__ __launch_bounds__(128) void softmax(const __grid_constant__ Globals g) {
  const int row = blockIdx.x * 4 + warpid(), tiles = g.x.cols() / 64;
  rt_fl<16, 64> tile;
  rt_fl<16, 64>::col_vec top, before, sum;  // a number a row
  warp::neg_infty(top);
  warp::zero(sum);
  for (int j = 0; j < tiles; ++j) {
    warp::load(tile, g.x, {row, j});
    warp::copy(before, top);
    warp::row_max(top, tile, top);
    warp::sub(before, before, top);
    warp::exp(before, before);  // what the sum so far shrinks by
    warp::mul(sum, sum, before);
    warp::sub_row(tile, tile, top);
    warp::exp(tile, tile);
    warp::row_sum(sum, tile, sum);
  }
  for (int j = 0; j < tiles; ++j) {
    warp::load(tile, g.x, {row, j});
    warp::sub_row(tile, tile, top);
    warp::exp(tile, tile);
    warp::div_row(tile, tile, sum);
    warp::store(g.y, tile, {row, j});
  }
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_BFLOAT16, "bfloat16 only");
  NEEDS(in[0].ndim == 2, "one matrix, softmax along its last axis");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows > 0 && rows % 64 == 0 && rows < INT32_MAX, "whole tiles: rows a multiple of 64");
  NEEDS(cols > 0 && cols % 64 == 0 && cols < INT32_MAX, "whole tiles: columns a multiple of 64");
  NEEDS(aligned(in[0].data, 16) && aligned(out[0].data, 16), "16-byte rows");
  Globals g{{(bf16*)in[0].data, nullptr, nullptr, size_t(rows), size_t(cols)},
            {(bf16*)out[0].data, nullptr, nullptr, size_t(rows), size_t(cols)}};
  softmax<<<rows / 64, 128, 0, (cudaStream_t)stream>>>(g);
  return launched();
}
