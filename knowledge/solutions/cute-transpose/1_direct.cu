// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 1_direct.cu -o k.so
// run: kernelwright evaluate reference.py 1_direct.cu --device emulated --set rows=100 --set columns=68
// y[c][r] = x[r][c], float32, any shape. Each thread moves one element: a warp reads a line of x but writes 32 lines of y.
// shows: LDG.E STG.E
// language: cute
// axes: R = in0[0], C = in0[1]
// launch: transpose grid(cdiv(C, 32), cdiv(R, 32)) block(256)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

__global__ void transpose(const float* x, float* y, int rows, int cols) {
  Tensor in = make_tensor(make_gmem_ptr(x), make_shape(rows, cols), make_stride(cols, _1{}));
  Tensor out = make_tensor(make_gmem_ptr(y), make_shape(rows, cols), make_stride(_1{}, rows));  // y, seen in x's order
  int c = blockIdx.x * 32 + threadIdx.x % 32;
  for (int r = blockIdx.y * 32 + threadIdx.x / 32; r < min(rows, int(blockIdx.y + 1) * 32); r += 8)
    if (c < cols) out(r, c) = in(r, c);
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows > 0 && cols > 0 && rows * cols < INT32_MAX && rows <= 32 * 65535ll, "a grid of tiles, 32-bit indices");
  dim3 grid((cols + 31) / 32, (rows + 31) / 32);
  transpose<<<grid, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, rows, cols);
  return launched();
}
