// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 3_swizzle.cu -o k.so
// run: kernelwright evaluate reference.py 3_swizzle.cu --device emulated --set rows=100 --set columns=68
// One change against 2_tile.cu: the tile's layout is swizzled. No padding is needed, and 16-byte accesses stay possible.
// shows: LDS STS
// language: cute
// axes: R = in0[0], C = in0[1]
// launch: transpose grid(cdiv(C, 32), cdiv(R, 32)) block(256)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

// Element (r, c) stands in word 32 r + (c xor r): rows and columns both spread over all 32 banks.
using TileLayout = decltype(composition(Swizzle<5, 0, 5>{}, Layout<Shape<_32, _32>, Stride<_32, _1>>{}));

__global__ void transpose(const float* x, float* y, int rows, int cols) {
  __shared__ float words[cosize_v<TileLayout>];
  Tensor tile = make_tensor(make_smem_ptr(words), TileLayout{});
  Tensor in = make_tensor(make_gmem_ptr(x), make_shape(rows, cols), make_stride(cols, _1{}));
  Tensor out = make_tensor(make_gmem_ptr(y), make_shape(cols, rows), make_stride(rows, _1{}));
  const int r0 = blockIdx.y * 32, c0 = blockIdx.x * 32, lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  for (int i = warp; i < 32; i += 8)
    if (r0 + i < rows && c0 + lane < cols) tile(i, lane) = in(r0 + i, c0 + lane);
  __syncthreads();
  for (int i = warp; i < 32; i += 8)
    if (c0 + i < cols && r0 + lane < rows) out(c0 + i, r0 + lane) = tile(lane, i);
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
