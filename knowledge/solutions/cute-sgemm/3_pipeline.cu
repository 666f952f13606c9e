// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_pipeline.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_pipeline.cu --device emulated --set m=33 --set k=20 --set n=40
// Three tiles under way by cp.async (LDGSTS): while one is multiplied, two more travel from global to shared memory without
// passing registers, and one barrier a tile remains. The only new types are the atoms: 4 bytes for a, turned on the way; 16
// for b, so N % 4 must be 0. `with(there)` makes a copy that is not there write zeros.
// shows: LDGSTS.E LDGSTS.E.BYPASS FFMA
// language: cute
// axes: M = in0[0], K = in0[1], N = in1[1]
// dtypes: in0 = float32, in1 = float32, out0 = float32
// require: numel(in0) == M * K, in1[0] == K
// require: N % 4 == 0, M * K < 2147483392, K * N < 2147483392, M * N < 2147483392, M <= 8388480
// launch: sgemm grid(cdiv(N, 128), cdiv(M, 128)) block(256) args(in0, in1, out0, M, N, K)
#include <cute/tensor.hpp>
using namespace cute;

using Stages = _3;
using TileA = Layout<Shape<_128, _8, Stages>, Stride<_1, Int<132>, Int<132 * 8>>>;  // padded: it is written along k
using TileB = Layout<Shape<_128, _8, Stages>>;
using AtomA = Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS_ZFILL<float>, float>;
using AtomB = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, float>;
using BringA = decltype(make_tiled_copy(AtomA{}, Layout<Shape<_32, _8>, Stride<_8, _1>>{}));
using BringB = decltype(make_tiled_copy(AtomB{}, Layout<Shape<_32, _8>>{}, Layout<Shape<_4, _1>>{}));
using Mma = decltype(make_tiled_mma(MMA_Atom<UniversalFMA<float>>{}, Layout<Shape<_16, _16, _1>, Stride<_16, _1, _0>>{}));

template <class Atom, class From, class At, class To, class Limit>
__device__ void bring_or_zero(Atom atom, const From& from, const At& at, To&& to, const Limit& limit) {
  CUTE_UNROLL
  for (int i = 0; i < size<1>(from); ++i)
    CUTE_UNROLL
    for (int j = 0; j < size<2>(from); ++j)
      copy(atom.with(elem_less(at(0, i, j), limit)), from(_, i, j), to(_, i, j));
}

extern "C" __global__ __launch_bounds__(256) void sgemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float words_a[cosize_v<TileA>];
  __shared__ alignas(16) float words_b[cosize_v<TileB>];
  Tensor sA = make_tensor(make_smem_ptr(words_a), TileA{});
  Tensor sB = make_tensor(make_smem_ptr(words_b), TileB{});
  auto shape_a = make_shape(m, k), shape_b = make_shape(n, k), shape_c = make_shape(m, n);
  auto tile = Shape<_128, _8>{};
  auto rows = make_coord(blockIdx.y, _), cols = make_coord(blockIdx.x, _);
  auto here = make_coord(blockIdx.y, blockIdx.x);
  Tensor gA = local_tile(make_tensor(make_gmem_ptr(a), shape_a, make_stride(k, _1{})), tile, rows);  // (128, 8, tiles)
  Tensor gB = local_tile(make_tensor(make_gmem_ptr(b), shape_b, make_stride(_1{}, n)), tile, cols);
  Tensor gC = local_tile(make_tensor(make_gmem_ptr(c), shape_c, make_stride(n, _1{})), Shape<_128, _128>{}, here);
  auto bring_a = BringA{}.get_slice(threadIdx.x);
  auto bring_b = BringB{}.get_slice(threadIdx.x);
  Tensor fromA = bring_a.partition_S(gA);
  Tensor fromB = bring_b.partition_S(gB);
  Tensor atA = bring_a.partition_S(local_tile(make_identity_tensor(shape_a), tile, rows));
  Tensor atB = bring_b.partition_S(local_tile(make_identity_tensor(shape_b), tile, cols));
  Tensor toA = bring_a.partition_D(sA);
  Tensor toB = bring_b.partition_D(sB);

  const int tiles = size<2>(gA);
  auto start = [&](int t) {  // a group is committed even past the end, so that the count of groups stays right
    if (t < tiles) bring_or_zero(AtomA{}, fromA(_, _, _, t), atA(_, _, _, t), toA(_, _, _, t % Stages{}), shape_a);
    if (t < tiles) bring_or_zero(AtomB{}, fromB(_, _, _, t), atB(_, _, _, t), toB(_, _, _, t % Stages{}), shape_b);
    cp_async_fence();
  };
  Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  Tensor seenA = mine.partition_A(sA);
  Tensor seenB = mine.partition_B(sB);
  Tensor sum = mine.partition_fragment_C(gC);
  clear(sum);
  start(0);
  start(1);
  for (int t = 0; t < tiles; ++t) {
    cp_async_wait<1>();  // all groups but the newest: tile t is here,
    __syncthreads();     // for all threads, and nobody reads tile t - 1 any more: its place may be filled
    start(t + 2);
    gemm(mma, seenA(_, _, _, t % Stages{}), seenB(_, _, _, t % Stages{}), sum);
  }
  Tensor to = mine.partition_C(gC);
  Tensor at = mine.partition_C(local_tile(make_identity_tensor(shape_c), Shape<_128, _128>{}, here));
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i)
    if (elem_less(at(i), shape_c)) to(i) = sum(i);
}
