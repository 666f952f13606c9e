// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 2_tiles.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_tiles.cu --device emulated --set m=33 --set k=20 --set n=40
// 128 x 128 outputs a block; tiles of a and b, 8 deep, pass through shared memory. A tiled MMA of 16 x 16 threads on the
// universal FMA gives each thread 8 x 8 outputs, 16 apart: 16 reads of shared memory for 64 multiply-adds, and the threads
// of a warp read neighbouring or equal words. Outside are zeros: asked of the identity tensors, cut as a and b are.
// shows: LDS STS FFMA BAR.SYNC
// language: cute
// axes: M = in0[0], K = in0[1], N = in1[1]
// dtypes: in0 = float32, in1 = float32, out0 = float32
// require: numel(in0) == M * K, in1[0] == K
// require: M * K < 2147483392, K * N < 2147483392, M * N < 2147483392, M <= 8388480
// launch: sgemm grid(cdiv(N, 128), cdiv(M, 128)) block(256) args(in0, in1, out0, M, N, K)
#include <cute/tensor.hpp>
using namespace cute;

using TileA = Layout<Shape<_128, _8>, Stride<_1, Int<132>>>;  // padded: it is written along k
using TileB = Layout<Shape<_128, _8>>;
using BringA = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_32, _8>, Stride<_8, _1>>{}));
using BringB = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<float>, float>{}, Layout<Shape<_128, _2>>{}));
using Mma = decltype(make_tiled_mma(MMA_Atom<UniversalFMA<float>>{}, Layout<Shape<_16, _16, _1>, Stride<_16, _1, _0>>{}));

template <class From, class At, class To, class Limit>
__device__ void bring_or_zero(const From& from, const At& at, To&& to, const Limit& limit) {
  CUTE_UNROLL
  for (int i = 0; i < size(from); ++i) to(i) = elem_less(at(i), limit) ? from(i) : 0.0f;
}

extern "C" __global__ __launch_bounds__(256) void sgemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float words_a[cosize_v<TileA>];
  __shared__ float words_b[cosize_v<TileB>];
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

  Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  Tensor sum = mine.partition_fragment_C(gC);
  clear(sum);
  for (int t = 0; t < size<2>(gA); ++t) {
    bring_or_zero(fromA(_, _, _, t), atA(_, _, _, t), toA, shape_a);
    bring_or_zero(fromB(_, _, _, t), atB(_, _, _, t), toB, shape_b);
    __syncthreads();
    gemm(mma, mine.partition_A(sA), mine.partition_B(sB), sum);
    __syncthreads();  // the tiles may be written again
  }
  Tensor to = mine.partition_C(gC);
  Tensor at = mine.partition_C(local_tile(make_identity_tensor(shape_c), Shape<_128, _128>{}, here));
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i)
    if (elem_less(at(i), shape_c)) to(i) = sum(i);
}
