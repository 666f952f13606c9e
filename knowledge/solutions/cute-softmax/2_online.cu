// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 2_online.cu -o k.so
// run: kernelwright evaluate reference.py 2_online.cu --device emulated --set rows=9 --set columns=100
// One pass gathers the largest and the sum together: when the largest grows, the sum so far is scaled down. A second pass
// writes. Both move 16 bytes a thread, so cols must be a multiple of 4.
// shows: LDG.E.128 STG.E.128 MUFU.EX2
// language: cute
// axes: R = in0[0], C = in0[1]
// launch: softmax grid(R) block(256)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

struct Partial {
  float top, sum;  // sum of exp(x - top) over what was seen
};

__device__ float shrink(float from, float to) { return from == to ? 1.0f : __expf(from - to); }  // also for -inf, -inf

__device__ Partial join(Partial a, Partial b) {
  const float top = fmaxf(a.top, b.top);
  return {top, a.sum * shrink(a.top, top) + b.sum * shrink(b.top, top)};
}

__device__ Partial over_lanes(Partial p, int first) {
  for (int d = first; d > 0; d /= 2)
    p = join(p, {__shfl_xor_sync(~0u, p.top, d), __shfl_xor_sync(~0u, p.sum, d)});
  return p;
}

__global__ __launch_bounds__(256) void softmax(const float* x, float* y, int rows, int cols) {
  __shared__ Partial of_warps[8];
  auto quads = make_layout(make_shape(_4{}, cols / 4));  // (4 neighbours, how many of them)
  Tensor in = make_tensor(make_gmem_ptr(x + blockIdx.x * cols), quads);
  Tensor out = make_tensor(make_gmem_ptr(y + blockIdx.x * cols), quads);
  Copy_Atom<UniversalCopy<uint128_t>, float> sixteen_bytes;
  Tensor four = make_tensor<float>(Shape<_4>{});

  Partial mine = {-INFINITY, 0};
  for (int q = threadIdx.x; q < cols / 4; q += 256) {
    copy(sixteen_bytes, in(_, q), four);
    const float top = fmaxf(fmaxf(four(0), four(1)), fmaxf(four(2), four(3)));
    if (top > mine.top) mine = {top, mine.sum * shrink(mine.top, top)};
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) mine.sum += __expf(four(i) - (mine.top == -INFINITY ? 0.0f : mine.top));
  }
  mine = over_lanes(mine, 16);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  const Partial all = over_lanes(of_warps[threadIdx.x % 8], 4);

  const float factor = 1.0f / all.sum;
  for (int q = threadIdx.x; q < cols / 4; q += 256) {
    copy(sixteen_bytes, in(_, q), four);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) four(i) = __expf(four(i) - all.top) * factor;
    copy(sixteen_bytes, four, out(_, q));
  }
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix, softmax along its last axis");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(cols % 4 == 0, "16-byte accesses: cols a multiple of 4; 1_three_passes.cu takes any");
  NEEDS(aligned(in[0].data, 16) && aligned(out[0].data, 16), "16-byte accesses");
  NEEDS(rows > 0 && cols > 0 && rows * cols < INT32_MAX, "32-bit indices");
  softmax<<<rows, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, rows, cols);
  return launched();
}
