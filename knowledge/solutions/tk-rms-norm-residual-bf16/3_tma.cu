// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 3_tma.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 3_tma.cu --device none
// Rows come and go by TMA (UTMALDG, UTMASTG): each warp has two pairs of row buffers in shared memory, and the next pair is on
// its way while this one is normalised. No register holds a byte that is still travelling.
// shows: UTMALDG UTMASTG MUFU.RSQ
// language: thunderkittens
// architectures: sm_90a
// axes: D = in2[0], R = numel(in0) // D
// launch: rms_normILi2048E grid(min(R // 4, 528)) block(128) shared(16 * D * 2 + 1024)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

template <int D>
struct Globals {
  gl<bf16, 1, 1, -1, D, sv_bf<D>> x, r;
  gl<bf16, 1, 1, 1, D> weight;
  gl<bf16, 1, 1, -1, D, sv_bf<D>> y;
};

// The row that the warp holds is scaled to a mean square of one; 1 / D is a power of two.
template <int D>
__device__ void normalise(rv_fl<D>& row) {
  rv_fl<D> squares;
  warp::mul(squares, row, row);
  warp::mul(row, row, rsqrtf(warp::sum(squares) / D + 1e-6f));
}

template <int D>
constexpr int SHARED = 2 * 4 * 2 * sizeof(sv_bf<D>) + 1024;

template <int D>
__global__ __launch_bounds__(128) void rms_norm(const __grid_constant__ Globals<D> g) {
  extern __shared__ alignment_dummy raw[];
  tma_allocator shared((int*)&raw[0]);
  sv_bf<D>(&rows)[4][2] = shared.template allocate<sv_bf<D>, 4, 2>();
  sv_bf<D>(&added)[4][2] = shared.template allocate<sv_bf<D>, 4, 2>();
  __shared__ semaphore arrived[4][2];
  if (threadIdx.x < 8) init_semaphore(arrived[threadIdx.x / 2][threadIdx.x % 2], 0, 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // TMA shall see the semaphores as they are now
  __syncthreads();
  const int me = warpid(), stride = gridDim.x * 4;
  rv_bf<D> weight;
  warp::load(weight, g.weight, {0, 0});
  auto start = [&](int at, int half) {  // the whole warp: lanes share the pieces of a long row
    if (at >= g.x.rows()) return;
    warp::tma::store_async_read_wait();  // the result that left from this half has been read
    warp::sync();
    warp::tma::expect_bytes(arrived[me][half], 2 * sizeof(sv_bf<D>));
    warp::sync();
    warp::tma::load_async(rows[me][half], g.x, {at, 0}, arrived[me][half]);
    warp::tma::load_async(added[me][half], g.r, {at, 0}, arrived[me][half]);
  };
  int at = blockIdx.x * 4 + me;
  start(at, 0);
  for (int step = 0; at < g.x.rows(); ++step, at += stride) {
    const int half = step % 2;
    start(at + stride, 1 - half);
    wait(arrived[me][half], step / 2 % 2);
    rv_fl<D> row, other;
    warp::load(row, rows[me][half]);
    warp::load(other, added[me][half]);
    warp::add(row, row, other);
    normalise<D>(row);
    warp::copy(other, weight);
    warp::mul(row, row, other);
    warp::sync();
    warp::store(rows[me][half], row);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // what this thread wrote, TMA may read
    warp::sync();
    warp::tma::store_async(g.y, rows[me][half], {at, 0});
  }
  warp::tma::store_async_wait();
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
  const int blocks = rows / 4 < 528 ? rows / 4 : 528;  // launched in turn where fewer fit
  cudaFuncSetAttribute(rms_norm<D>, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED<D>);
  rms_norm<D><<<blocks, 128, SHARED<D>, stream>>>(g);
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
