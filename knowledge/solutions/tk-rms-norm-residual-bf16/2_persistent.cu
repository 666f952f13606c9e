// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 2_persistent.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 2_persistent.cu --device none
// As many blocks as fit the device, each warp walking over rows: weight is read once a warp and stays in registers.
// shows: MUFU.RSQ SHFL
// language: thunderkittens
// architectures: sm_90a
// axes: D = in2[0], R = numel(in0) // D
// launch: rms_normILi2048E grid(min(R // 4, 528)) block(128)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

template <int D>
struct Globals {
  gl<bf16, 1, 1, -1, D> x, r;
  gl<bf16, 1, 1, 1, D> weight;
  gl<bf16, 1, 1, -1, D> y;
};

// The row that the warp holds is scaled to a mean square of one; 1 / D is a power of two.
template <int D>
__device__ void normalise(rv_fl<D>& row) {
  rv_fl<D> squares;
  warp::mul(squares, row, row);
  warp::mul(row, row, rsqrtf(warp::sum(squares) / D + 1e-6f));
}

template <int D>
__global__ __launch_bounds__(128) void rms_norm(const __grid_constant__ Globals<D> g) {
  rv_bf<D> weight;
  warp::load(weight, g.weight, {0, 0});
  for (int at = blockIdx.x * 4 + warpid(); at < g.x.rows(); at += gridDim.x * 4) {
    rv_fl<D> row, other;
    warp::load(row, g.x, {at, 0});
    warp::load(other, g.r, {at, 0});
    warp::add(row, row, other);
    normalise<D>(row);
    warp::copy(other, weight);
    warp::mul(row, row, other);
    warp::store(g.y, row, {at, 0});
  }
}

inline int64_t numel(const kw_tensor& t) {
  int64_t n = 1;
  for (int i = 0; i < t.ndim; ++i) n *= t.shape[i];
  return n;
}

template <int D>
int launch(const kw_tensor* in, const kw_tensor& y, cudaStream_t stream) {
  const size_t rows = numel(y) / D;
  Globals<D> g{{(bf16*)in[0].data, nullptr, nullptr, rows, nullptr},
               {(bf16*)in[1].data, nullptr, nullptr, rows, nullptr},
               {(bf16*)in[2].data, nullptr, nullptr, nullptr, nullptr},
               {(bf16*)y.data, nullptr, nullptr, rows, nullptr}};
  const int blocks = rows / 4 < 528 ? rows / 4 : 528;  // four on each of an H100's 132 multiprocessors
  rms_norm<D><<<blocks, 128, 0, stream>>>(g);
  return launched();
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace* ws, kw_stream stream) {
  NEEDS(ws->n_in == 3, "x, residual and weight");
  for (int i = 0; i < 3; ++i) NEEDS(in[i].dtype == KW_BFLOAT16 && aligned(in[i].data, 16), "bfloat16, aligned to 16 bytes");
  NEEDS(aligned(out[0].data, 16) && in[0].ndim >= 2, "[.., D], aligned to 16 bytes");
  const int64_t D = in[0].shape[in[0].ndim - 1], rows = numel(in[0]) / D;
  NEEDS(numel(in[1]) == numel(in[0]) && in[2].ndim == 1 && in[2].shape[0] == D, "residual as x, weight of D elements");
  NEEDS(rows > 0 && rows % 4 == 0 && rows < INT32_MAX, "a multiple of 4 rows");
  NEEDS(D == 512 || D == 1024 || D == 2048, "a row in the registers of a warp: D of 512, 1024 or 2048");
  switch (D) {
    case 512: return launch<512>(in, out[0], (cudaStream_t)stream);
    case 1024: return launch<1024>(in, out[0], (cudaStream_t)stream);
    default: return launch<2048>(in, out[0], (cudaStream_t)stream);
  }
}
