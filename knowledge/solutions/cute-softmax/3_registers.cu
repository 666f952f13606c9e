// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 3_registers.cu -o k.so
// run: kernelwright evaluate reference.py 3_registers.cu --device emulated --set rows=9 --set columns=100
// A row stays in registers: read once, written once. A warp takes a row of up to 1024 columns (eight rows a block, no
// barrier), a block one of up to 8192.
// shows: LDG.E.128 STG.E.128 MUFU.EX2
// language: cute
// axes: R = in0[0], C = in0[1]
// launch: softmaxILi256ELi8E grid(R) block(256)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

// Threads of a row: 32 or 256. Each holds Quads x 4 values; those of a warp's one load are 512 neighbouring bytes.
template <int Threads, class Op>
__device__ float over_row(float value, Op op) {
  for (int d = 16; d > 0; d /= 2) value = op(value, __shfl_xor_sync(~0u, value, d));
  if constexpr (Threads == 256) {
    __shared__ float words[8];
    if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = value;
    __syncthreads();
    value = words[threadIdx.x % 8];
    for (int d = 4; d > 0; d /= 2) value = op(value, __shfl_xor_sync(~0u, value, d));
    __syncthreads();  // words may be written again
  }
  return value;
}

template <int Threads, int Quads>
__global__ __launch_bounds__(256) void softmax(const float* x, float* y, int rows, int cols) {
  const int row = blockIdx.x * (256 / Threads) + threadIdx.x / Threads, me = threadIdx.x % Threads;
  if (row >= rows) return;  // whole warps, and only where no barrier follows
  auto quads = make_layout(make_shape(_4{}, cols / 4));
  Tensor in = make_tensor(make_gmem_ptr(x + row * cols), quads);
  Tensor out = make_tensor(make_gmem_ptr(y + row * cols), quads);
  Copy_Atom<UniversalCopy<uint128_t>, float> sixteen_bytes;
  Tensor held = make_tensor<float>(Shape<_4, Int<Quads>>{});
  fill(held, -INFINITY);  // what lies beyond the row changes neither largest nor sum

  CUTE_UNROLL
  for (int q = 0; q < Quads; ++q)
    if (me + q * Threads < cols / 4) copy(sixteen_bytes, in(_, me + q * Threads), held(_, q));
  float top = -INFINITY, sum = 0;
  CUTE_UNROLL
  for (int i = 0; i < size(held); ++i) top = fmaxf(top, held(i));
  top = over_row<Threads>(top, [](float a, float b) { return fmaxf(a, b); });
  CUTE_UNROLL
  for (int i = 0; i < size(held); ++i) sum += held(i) = __expf(held(i) - top);
  sum = over_row<Threads>(sum, [](float a, float b) { return a + b; });
  const float factor = 1.0f / sum;
  CUTE_UNROLL
  for (int i = 0; i < size(held); ++i) held(i) *= factor;
  CUTE_UNROLL
  for (int q = 0; q < Quads; ++q)
    if (me + q * Threads < cols / 4) copy(sixteen_bytes, held(_, q), out(_, me + q * Threads));
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix, softmax along its last axis");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(cols % 4 == 0, "16-byte accesses: cols a multiple of 4; 1_three_passes.cu takes any");
  NEEDS(cols <= 8192, "a row in the registers of 256 threads; 2_online.cu takes longer ones");
  NEEDS(aligned(in[0].data, 16) && aligned(out[0].data, 16), "16-byte accesses");
  NEEDS(rows > 0 && cols > 0 && rows * cols < INT32_MAX, "32-bit indices");
  const float* x = (const float*)in[0].data;
  float* y = (float*)out[0].data;
  const int eighth = (rows + 7) / 8;
  if (cols <= 128)
    softmax<32, 1><<<eighth, 256, 0, (cudaStream_t)stream>>>(x, y, rows, cols);
  else if (cols <= 512)
    softmax<32, 4><<<eighth, 256, 0, (cudaStream_t)stream>>>(x, y, rows, cols);
  else if (cols <= 1024)
    softmax<32, 8><<<eighth, 256, 0, (cudaStream_t)stream>>>(x, y, rows, cols);
  else if (cols <= 4096)
    softmax<256, 4><<<rows, 256, 0, (cudaStream_t)stream>>>(x, y, rows, cols);
  else
    softmax<256, 8><<<rows, 256, 0, (cudaStream_t)stream>>>(x, y, rows, cols);
  return launched();
}
