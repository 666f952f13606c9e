// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_in_flight.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_in_flight.cu --device emulated --set elements=1000
// The tile grows to 4096 elements and Move stays: each thread now has four steps. All four 16-byte loads are issued before
// the first store waits for one of them, so that a quarter of the warps has as many bytes under way. A tile that is whole
// asks nothing; in the last one the identity tensor, cut by the same Move, tells each quad where it stands.
// shows: LDG.E.128 STG.E.128
// language: cute
// axes: N = numel(in0)
// dtypes: in0 = float32, out0 = float32
// require: numel(out0) == N
// require: N % 4 == 0, N < 2147479552
// launch: duplicate grid(cdiv(N, 4096)) block(256) args(in0, out0, N)
#include <cute/tensor.hpp>
using namespace cute;

using Block = Shape<_4096>;
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_256>{}, Layout<_4>{}));

extern "C" __global__ __launch_bounds__(256) void duplicate(const float* x, float* y, int n) {
  Tensor in = local_tile(make_tensor(make_gmem_ptr(x), make_shape(n)), Block{}, make_coord(blockIdx.x));
  Tensor out = local_tile(make_tensor(make_gmem_ptr(y), make_shape(n)), Block{}, make_coord(blockIdx.x));
  auto mine = Move{}.get_slice(threadIdx.x);
  Tensor from = mine.partition_S(in);  // (4 values, 4 steps)
  Tensor to = mine.partition_D(out);
  Tensor held = make_fragment_like(from);
  if (int(blockIdx.x + 1) * 4096 <= n) {  // all blocks but perhaps the last
    copy(Move{}, from, held);
    copy(Move{}, held, to);
  } else {
    Tensor at = mine.partition_S(make_identity_tensor(Block{}));
    CUTE_UNROLL
    for (int step = 0; step < size<1>(from); ++step)
      if (int(blockIdx.x) * 4096 + get<0>(at(0, step)) < n) {
        copy(Move{}, from(_, step), held(_, step));
        copy(Move{}, held(_, step), to(_, step));
      }
  }
}
