// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_warp_rows.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_warp_rows.cu --device emulated --set rows=3 --set columns=1000
// A warp takes a row: the tiled copy's threads lie as 8 rows of 32, each with 1 x 4 values, and its steps go 512 columns to the
// right. Four 16-byte loads a thread are under way; no shared memory, no barrier, and short rows leave no thread idle. What
// lies beyond the matrix is asked of the identity tensor and counts as zero.
// shows: LDG.E.128 SHFL.BFLY
// language: cute
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, out0 = float32
// require: numel(in0) == R * C
// require: C % 4 == 0, R * C < 2147483392
// launch: row_sum grid(cdiv(R, 8)) block(256) args(in0, out0, R, C)
#include <cute/tensor.hpp>
using namespace cute;

using Block = Shape<_8, _512>;
using Bring = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
                                       Layout<Shape<_8, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _4>>{}));

extern "C" __global__ __launch_bounds__(256) void row_sum(const float* x, float* y, int rows, int cols) {
  auto shape = make_shape(rows, cols);
  auto here = make_coord(blockIdx.x, _);
  auto bring = Bring{}.get_slice(threadIdx.x);
  Tensor all = make_tensor(make_gmem_ptr(x), shape, make_stride(cols, _1{}));
  Tensor from = bring.partition_S(local_tile(all, Block{}, here));  // (4 values, 1, 4 steps, tiles)
  Tensor at = bring.partition_S(local_tile(make_identity_tensor(shape), Block{}, here));
  Tensor held = make_fragment_like(from(_, _, _, 0));
  float sum = 0;
  for (int tile = 0; tile < size<3>(from); ++tile) {
    CUTE_UNROLL
    for (int step = 0; step < size<2>(from); ++step)
      if (elem_less(at(0, 0, step, tile), shape))
        copy(Bring{}, from(_, 0, step, tile), held(_, 0, step));
      else
        fill(held(_, 0, step), 0.0f);
    CUTE_UNROLL
    for (int step = 0; step < size<2>(from); ++step)
      sum += (held(0, 0, step) + held(1, 0, step)) + (held(2, 0, step) + held(3, 0, step));
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const int row = get<0>(at(0, 0, 0, 0));
  if (threadIdx.x % 32 == 0 && row < rows) y[row] = sum;
}
