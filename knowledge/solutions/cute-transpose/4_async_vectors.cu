// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 4_async_vectors.cu -o k.so
// run: kernelwright evaluate reference.py 4_async_vectors.cu --device emulated --set rows=100 --set columns=68
// 64 x 64 tiles: cp.async brings 16 bytes a thread from global to shared memory past the registers (LDGSTS), and each
// thread gathers four words of a column and stores them as 16 bytes. rows and cols must be multiples of 4.
// shows: LDGSTS.E.BYPASS.LTC128B.128 STG.E.128
// language: cute
// axes: R = in0[0], C = in0[1]
// launch: transpose grid(cdiv(C, 64), cdiv(R, 64)) block(256)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

// The swizzle moves whole 16-byte chunks: chunk (c / 4) of row r stands at (c / 4) xor (r / 4 mod 8). Eight chunks of a
// row fill the 32 banks once, and so do four neighbouring columns of every fourth of 32 rows, which a warp reads at once.
using TileLayout = decltype(composition(Swizzle<3, 2, 6>{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{}));

__global__ void transpose(const float* x, float* y, int rows, int cols) {
  __shared__ alignas(16) float words[64 * 64];
  Tensor tile = make_tensor(make_smem_ptr(words), TileLayout{});
  Tensor all_in = make_tensor(make_gmem_ptr(x), make_shape(rows, cols), make_stride(cols, _1{}));
  Tensor in = local_tile(all_in, Shape<_64, _64>{}, make_coord(blockIdx.y, blockIdx.x));
  const int r0 = blockIdx.y * 64, c0 = blockIdx.x * 64, lane = threadIdx.x % 32, warp = threadIdx.x / 32;

  // 16 x 16 threads, each with 1 x 4 values: a half warp brings one row of the tile, four rows apart a step.
  auto bring = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, float>{},
                               Layout<Shape<_16, _16>, Stride<_16, _1>>{}, Layout<Shape<_1, _4>>{});
  auto mine = bring.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(in);  // (4 values, 4 steps down, 1)
  Tensor to = mine.partition_D(tile);
  Tensor at = mine.partition_S(make_identity_tensor(Shape<_64, _64>{}));
  CUTE_UNROLL
  for (int i = 0; i < size<1>(from); ++i)
    if (r0 + get<0>(at(0, i, 0)) < rows && c0 + get<1>(at(0, i, 0)) < cols)
      copy(bring, from(_, i, 0), to(_, i, 0));
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();

  // A warp stores four rows of y, 32 elements (one line) each; its second half of a tile's 64 follows.
  CUTE_UNROLL
  for (int i = 0; i < 4; ++i) {
    const int c = warp * 4 + lane % 4 + (i % 2) * 32, r = (lane / 4) * 4 + (i / 2) * 32;
    if (c0 + c < cols && r0 + r < rows)
      *reinterpret_cast<float4*>(y + int64_t(c0 + c) * rows + r0 + r) =
          make_float4(tile(r, c), tile(r + 1, c), tile(r + 2, c), tile(r + 3, c));
  }
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows % 4 == 0 && cols % 4 == 0, "16-byte accesses: both sides a multiple of 4; 3_swizzle.cu takes any");
  NEEDS(aligned(in[0].data, 16) && aligned(out[0].data, 16), "16-byte accesses");
  NEEDS(rows > 0 && cols > 0 && rows * cols < INT32_MAX && rows <= 64 * 65535ll, "a grid of tiles, 32-bit indices");
  dim3 grid((cols + 63) / 64, (rows + 63) / 64);
  transpose<<<grid, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, rows, cols);
  return launched();
}
