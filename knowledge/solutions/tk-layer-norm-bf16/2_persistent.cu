// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 2_persistent.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 2_persistent.cu --device none
// As many blocks as fit the device, each walking over rows: weight and bias are read once a warp, into registers as
// bfloat16, instead of once a row.
// shows: MUFU.RSQ
// language: thunderkittens
// architectures: sm_90a
// axes: D = in1[0], R = numel(in0) // D
// launch: layer_normILi2048E grid(min(R // 4, 528)) block(128)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

template <int D>
struct Globals {
  gl<bf16, 1, 1, -1, D> x;
  gl<bf16, 1, 1, 1, D> weight, bias;
  gl<bf16, 1, 1, -1, D> y;
  float eps;
};

// mean and variance first, then the scaling, all on the row that the warp holds; 1 / D is a power of two.
template <int D>
__device__ void normalise(rv_fl<D>& row, const float eps) {
  warp::add(row, row, -warp::sum(row) / D);
  rv_fl<D> squares;
  warp::mul(squares, row, row);
  warp::mul(row, row, rsqrtf(warp::sum(squares) / D + eps));
}

template <int D>
__global__ __launch_bounds__(128) void layer_norm(const __grid_constant__ Globals<D> g) {
  rv_bf<D> weight, bias;
  warp::load(weight, g.weight, {0, 0});
  warp::load(bias, g.bias, {0, 0});
  for (int at = blockIdx.x * 4 + warpid(); at < g.x.rows(); at += gridDim.x * 4) {
    rv_fl<D> row, factor;
    warp::load(row, g.x, {at, 0});
    normalise<D>(row, g.eps);
    warp::copy(factor, weight);
    warp::mul(row, row, factor);
    warp::copy(factor, bias);
    warp::add(row, row, factor);
    warp::store(g.y, row, {at, 0});
  }
}

inline int64_t numel(const kw_tensor& t) {
  int64_t n = 1;
  for (int i = 0; i < t.ndim; ++i) n *= t.shape[i];
  return n;
}

template <int D>
int launch(const kw_tensor* in, const kw_tensor& y, float eps, cudaStream_t stream) {
  const size_t rows = numel(y) / D;
  Globals<D> g{{(bf16*)in[0].data, nullptr, nullptr, rows, nullptr},
               {(bf16*)in[1].data, nullptr, nullptr, nullptr, nullptr},
               {(bf16*)in[2].data, nullptr, nullptr, nullptr, nullptr},
               {(bf16*)y.data, nullptr, nullptr, rows, nullptr},
               eps};
  const int blocks = rows / 4 < 528 ? rows / 4 : 528;  // four on each of an H100's 132 multiprocessors
  layer_norm<D><<<blocks, 128, 0, stream>>>(g);
  return launched();
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace* ws, kw_stream stream) {
  NEEDS(ws->n_in == 3, "x, weight and bias");
  for (int i = 0; i < 3; ++i) NEEDS(in[i].dtype == KW_BFLOAT16 && aligned(in[i].data, 16), "bfloat16, aligned to 16 bytes");
  NEEDS(aligned(out[0].data, 16) && in[0].ndim >= 2, "[.., D], aligned to 16 bytes");
  const int64_t D = in[0].shape[in[0].ndim - 1], rows = numel(in[0]) / D;
  NEEDS(in[1].ndim == 1 && in[2].ndim == 1 && in[1].shape[0] == D && in[2].shape[0] == D, "weight and bias of D elements");
  NEEDS(rows > 0 && rows % 4 == 0 && rows < INT32_MAX, "a multiple of 4 rows");
  NEEDS(D == 512 || D == 1024 || D == 2048, "a row in the registers of a warp: D of 512, 1024 or 2048");
#ifndef EPS
#define EPS 1e-5f  // nn.LayerNorm's default
#endif
  switch (D) {
    case 512: return launch<512>(in, out[0], EPS, (cudaStream_t)stream);
    case 1024: return launch<1024>(in, out[0], EPS, (cudaStream_t)stream);
    default: return launch<2048>(in, out[0], EPS, (cudaStream_t)stream);
  }
}
