// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 1_warp_tiles.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 1_warp_tiles.cu --device none
// c = relu(a b + bias) in bfloat16 with float32 sums: a warp a tile of 32 x 64, operands straight from global memory into
// register tiles, warp-level mma (HMMA). Bias and ReLU act on the tile of sums: a vector added to its columns, a maximum.
// shows: HMMA.16816.F32.BF16 FMNMX
// language: thunderkittens
// architectures: sm_90a
// axes: M = in0[0], K = in0[1], N = in1[1]
// launch: linear grid(N // 128, M // 64) block(128)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

using Matrix = gl<bf16, 1, 1, -1, -1>;
struct Globals {
  Matrix a, b, c;
  gl<bf16, 1, 1, 1, -1> bias;
};

__global__ __launch_bounds__(128) void linear(const __grid_constant__ Globals g) {
  const int row = blockIdx.y * 2 + warpid() / 2, col = blockIdx.x * 2 + warpid() % 2;  // in tiles of 32 and of 64
  rt_bf<32, 32> a;
  rt_bf<32, 64, ducks::rt_layout::col> b;  // the layout that mma_AB wants of its second operand
  rt_fl<32, 64> sum;
  warp::zero(sum);
  for (int k = 0; k < g.a.cols() / 32; ++k) {
    warp::load(a, g.a, {row, k});
    warp::load(b, g.b, {k, col});
    warp::mma_AB(sum, a, b, sum);
  }
  rt_fl<32, 64>::row_vec added;  // a value a column, where the sums of that column are
  warp::load(added, g.bias, {0, col});
  warp::add_col(sum, sum, added);
  warp::relu(sum, sum);
  warp::store(g.c, sum, {row, col});
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  for (int i = 0; i < 3; ++i) NEEDS(in[i].dtype == KW_BFLOAT16 && aligned(in[i].data, 16), "bfloat16, aligned to 16 bytes");
  NEEDS(in[0].ndim == 2 && in[1].ndim == 2 && in[0].shape[1] == in[1].shape[0], "a: [M, K], b: [K, N]");
  const int64_t M = in[0].shape[0], N = in[1].shape[1], K = in[0].shape[1];
  NEEDS(M > 0 && N > 0 && K > 0 && M % 64 == 0 && N % 128 == 0 && K % 64 == 0, "whole tiles of 64 x 128 x 64");
  NEEDS(in[2].ndim == 1 && in[2].shape[0] == N, "bias: [N]");
  NEEDS(M <= 64 * 65535ll && N < INT32_MAX && K < INT32_MAX, "a grid of tiles");
  NEEDS(aligned(out[0].data, 16), "16-byte rows");
  Globals g{{(bf16*)in[0].data, nullptr, nullptr, size_t(M), size_t(K)},
            {(bf16*)in[1].data, nullptr, nullptr, size_t(K), size_t(N)},
            {(bf16*)out[0].data, nullptr, nullptr, size_t(M), size_t(N)},
            {(bf16*)in[2].data, nullptr, nullptr, nullptr, size_t(N)}};
  linear<<<dim3(N / 128, M / 64), 128, 0, (cudaStream_t)stream>>>(g);
  return launched();
}
