// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 2_vectors.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_vectors.cu --device emulated --set elements=1000
// A tiled copy says who moves what: 256 threads in a row, each with four neighbours, by a 16-byte atom. The code that cuts
// the tile into parts is the same for any arrangement; only the type Move is changed to try another. N % 4 must be 0: then
// a quad is there whole or not at all, and one question is enough for it.
// shows: LDG.E.128 STG.E.128
// language: cute
// axes: N = numel(in0)
// dtypes: in0 = float32, out0 = float32
// require: numel(out0) == N
// require: N % 4 == 0, N < 2147482624
// launch: duplicate grid(cdiv(N, 1024)) block(256) args(in0, out0, N)
#include <cute/tensor.hpp>
using namespace cute;

using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_256>{}, Layout<_4>{}));

extern "C" __global__ __launch_bounds__(256) void duplicate(const float* x, float* y, int n) {
  Tensor in = local_tile(make_tensor(make_gmem_ptr(x), make_shape(n)), Shape<_1024>{}, make_coord(blockIdx.x));
  Tensor out = local_tile(make_tensor(make_gmem_ptr(y), make_shape(n)), Shape<_1024>{}, make_coord(blockIdx.x));
  auto mine = Move{}.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(in);  // (4 values, 1 step)
  Tensor to = mine.partition_D(out);
  Tensor held = make_fragment_like(from);
  if (blockIdx.x * 1024 + threadIdx.x * 4 < n) {
    copy(Move{}, from, held);
    copy(Move{}, held, to);
  }
}
