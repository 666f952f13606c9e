// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 2_shuffles.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_shuffles.cu --device emulated --set rows=3 --set columns=1000
// The row is seen as (4 neighbours, quads), so that a copy of one column of that view is a 16-byte load. Four sums a thread do
// not wait for each other. Five shuffles join a warp, eight words the warps: one barrier a row instead of nine.
// shows: LDG.E.128 SHFL.BFLY BAR.SYNC
// language: cute
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, out0 = float32
// require: numel(in0) == R * C
// require: C % 4 == 0, R * C < 2147483392
// launch: row_sum grid(R) block(256) args(in0, out0, R, C)
#include <cute/tensor.hpp>
using namespace cute;

__device__ float over_lanes(float sum, int first) {
  for (int d = first; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  return sum;
}

extern "C" __global__ __launch_bounds__(256) void row_sum(const float* x, float* y, int rows, int cols) {
  __shared__ float of_warps[8];
  Tensor in = make_tensor(make_gmem_ptr(x + blockIdx.x * cols), make_layout(make_shape(_4{}, cols / 4)));
  Tensor four = make_tensor<float>(Shape<_4>{});
  Tensor part = make_tensor<float>(Shape<_4>{});
  clear(part);
  for (int q = threadIdx.x; q < cols / 4; q += 256) {
    copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, in(_, q), four);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) part(i) += four(i);
  }
  const float sum = over_lanes((part(0) + part(1)) + (part(2) + part(3)), 16);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  const float all = over_lanes(of_warps[threadIdx.x % 8], 4);
  if (threadIdx.x == 0) y[blockIdx.x] = all;
}
