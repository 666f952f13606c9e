// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 1_elements.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_elements.cu --device emulated --set elements=1000
// y = x, float32, any length. CuTe's two words for it: a tensor is a pointer with a layout, and local_tile is the part of it
// that a block takes. A thread copies one element, four bytes; the last block asks for each whether it is there.
// shows: LDG.E STG.E
// language: cute
// axes: N = numel(in0)
// dtypes: in0 = float32, out0 = float32
// require: numel(out0) == N
// require: N < 2147483392
// launch: duplicate grid(cdiv(N, 256)) block(256) args(in0, out0, N)
#include <cute/tensor_impl.hpp>  // tensors and layouts, no atoms
using namespace cute;

extern "C" __global__ __launch_bounds__(256) void duplicate(const float* x, float* y, int n) {
  Tensor in = local_tile(make_tensor(make_gmem_ptr(x), make_shape(n)), Shape<_256>{}, make_coord(blockIdx.x));
  Tensor out = local_tile(make_tensor(make_gmem_ptr(y), make_shape(n)), Shape<_256>{}, make_coord(blockIdx.x));
  if (blockIdx.x * 256 + threadIdx.x < n) out(threadIdx.x) = in(threadIdx.x);
}
