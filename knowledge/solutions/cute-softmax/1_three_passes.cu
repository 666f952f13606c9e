// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 1_three_passes.cu -o k.so
// run: kernelwright evaluate reference.py 1_three_passes.cu --device emulated --set rows=9 --set columns=100
// y = softmax(x) along rows of a float32 matrix, any shape. A block a row and three passes over it in global memory:
// the largest, the sum of exp(x - largest), the quotients. The first two passes are read for nothing but one number each.
// shows: MUFU.EX2 SHFL.BFLY
// language: cute
// axes: R = in0[0], C = in0[1]
// launch: softmax grid(R) block(256)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

template <class Op>
__device__ float over_block(float value, Op op, float* words) {
  for (int d = 16; d > 0; d /= 2) value = op(value, __shfl_xor_sync(~0u, value, d));
  if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = value;
  __syncthreads();
  value = words[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) value = op(value, __shfl_xor_sync(~0u, value, d));
  __syncthreads();  // words may be written again
  return value;
}

__global__ __launch_bounds__(256) void softmax(const float* x, float* y, int rows, int cols) {
  __shared__ float words[8];
  auto whole = make_layout(make_shape(rows, cols), make_stride(cols, _1{}));
  Tensor in = make_tensor(make_gmem_ptr(x), whole)(int(blockIdx.x), _);
  Tensor out = make_tensor(make_gmem_ptr(y), whole)(int(blockIdx.x), _);
  float top = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < cols; c += 256) top = fmaxf(top, in(c));
  top = over_block(top, [](float a, float b) { return fmaxf(a, b); }, words);
  for (int c = threadIdx.x; c < cols; c += 256) sum += __expf(in(c) - top);
  sum = over_block(sum, [](float a, float b) { return a + b; }, words);
  for (int c = threadIdx.x; c < cols; c += 256) out(c) = __expf(in(c) - top) / sum;
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix, softmax along its last axis");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows > 0 && cols > 0 && rows * cols < INT32_MAX, "32-bit indices");
  softmax<<<rows, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, rows, cols);
  return launched();
}
