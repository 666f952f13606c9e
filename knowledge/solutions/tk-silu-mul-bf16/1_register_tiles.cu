// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 1_register_tiles.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 1_register_tiles.cu --device none
// y = silu(a) * b element by element, bfloat16, float32 inside: a warp a register tile of 16 x 64 of each, loaded straight
// from global memory, 4 bytes a lane. One kernel where eager torch runs two and writes silu(a) between them.
// shows: MUFU.EX2 MUFU.RCP LDG.E STG.E
// language: thunderkittens
// architectures: sm_90a
// axes: R = in0[0], C = in0[1]
// launch: silu_mul_tiles grid(C // 64, R // 64) block(128)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

using Matrix = gl<bf16, 1, 1, -1, -1>;
struct Globals {
  Matrix a, b, y;
};

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
  const int row = blockIdx.y * 4 + warpid(), col = blockIdx.x;
  rt_fl<16, 64> a, b;
  warp::load(a, g.a, {row, col});
  warp::load(b, g.b, {row, col});
  silu_mul(a, b);
  warp::store(g.y, a, {row, col});
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
  silu_mul_tiles<<<dim3(cols / 64, rows / 64), 128, 0, (cudaStream_t)stream>>>(g);
  return launched();
}
