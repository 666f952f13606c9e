// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 2_two_kernels.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_two_kernels.cu --device emulated --set rows=128 --set depth=64 --set features=128
// The product runs on tensor cores (mma.sync m16n8k16, HMMA): operands by ldmatrix (LDSM) from swizzled tiles that cp.async
// (LDGSTS) brings three deep. Bias and ReLU follow as a kernel of their own, as after a library call: the product is written
// in float16, read again and written again.
// shows: HMMA.16816.F32 LDSM.16 LDGSTS.E.BYPASS
// language: cute
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = float16, in1 = float16, in2 = float16, out0 = float16
// require: numel(in0) == M * K, in1[1] == K, numel(in2) == N
// require: M % 128 == 0, N % 128 == 0, K % 32 == 0, M * K < 2147483392, N * K < 2147483392, M * N < 2147483392
// scratch: h = float16[M * N]
// launch: linear grid(N // 128, M // 128) block(128) args(in0, in1, h, M, N, K)
// launch: bias_relu grid(cdiv(N, 256), min(M, 65535)) block(256) args(h, in2, out0, M, N)
#include <cute/tensor.hpp>
using namespace cute;

using Rows8 = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}));
using Staged = decltype(tile_to_shape(Rows8{}, Shape<_128, _32, _3>{}));  // 24 KiB an operand; no bank conflicts
using Mma = decltype(make_tiled_mma(MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{}, Layout<Shape<_2, _2>>{},
                                    cute::Tile<_32, _32, _16>{}));
using Bring = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                                       Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));

extern "C" __global__ __launch_bounds__(128) void linear(const half_t* x, const half_t* w, half_t* y, int m, int n, int k) {
  __shared__ alignas(128) half_t words_a[cosize_v<Staged>];
  __shared__ alignas(128) half_t words_b[cosize_v<Staged>];
  Tensor sA = make_tensor(make_smem_ptr(words_a), Staged{});
  Tensor sB = make_tensor(make_smem_ptr(words_b), Staged{});
  Tensor X = make_tensor(make_gmem_ptr(x), make_shape(m, k), make_stride(k, _1{}));
  Tensor W = make_tensor(make_gmem_ptr(w), make_shape(n, k), make_stride(k, _1{}));
  Tensor gA = local_tile(X, Shape<_128, _32>{}, make_coord(blockIdx.y, _));  // (128, 32, tiles along k)
  Tensor gB = local_tile(W, Shape<_128, _32>{}, make_coord(blockIdx.x, _));
  auto here = [&](auto* words, auto down) {  // this block's 128 x 128 of a tensor [m, n]
    Tensor all = make_tensor(make_gmem_ptr(words), make_shape(m, n), make_stride(down, _1{}));
    return local_tile(all, Shape<_128, _128>{}, make_coord(blockIdx.y, blockIdx.x));
  };
  auto bring = Bring{}.get_slice(threadIdx.x);
  Tensor fromA = bring.partition_S(gA);
  Tensor fromB = bring.partition_S(gB);
  Tensor toA = bring.partition_D(sA);
  Tensor toB = bring.partition_D(sB);

  Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  Tensor rA = mine.partition_fragment_A(sA(_, _, 0));
  Tensor rB = mine.partition_fragment_B(sB(_, _, 0));
  Tensor sum = partition_fragment_C(mma, Shape<_128, _128>{});
  auto ldA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto ldB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  Tensor seenA = ldA.get_slice(threadIdx.x).partition_S(sA);
  Tensor seenB = ldB.get_slice(threadIdx.x).partition_S(sB);
  Tensor intoA = ldA.get_slice(threadIdx.x).retile_D(rA);
  Tensor intoB = ldB.get_slice(threadIdx.x).retile_D(rB);
  clear(sum);

  const int tiles = size<2>(gA);
  auto start = [&](int t) {  // a group is committed even past the end, so that the count of groups stays right
    if (t < tiles) copy(Bring{}, fromA(_, _, _, t), toA(_, _, _, t % 3));
    if (t < tiles) copy(Bring{}, fromB(_, _, _, t), toB(_, _, _, t % 3));
    cp_async_fence();
  };
  start(0);
  start(1);
  for (int t = 0; t < tiles; ++t) {
    cp_async_wait<1>();  // all groups but the newest: tile t is here,
    __syncthreads();     // for all threads, and nobody reads tile t - 1 any more: its place may be filled
    start(t + 2);
    CUTE_UNROLL
    for (int step = 0; step < size<2>(rA); ++step) {
      copy(ldA, seenA(_, _, step, t % 3), intoA(_, _, step));
      copy(ldB, seenB(_, _, step, t % 3), intoB(_, _, step));
      gemm(mma, rA(_, _, step), rB(_, _, step), sum);
    }
  }
  Tensor rounded = make_fragment_like<half_t>(sum);
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i) rounded(i) = half_t(sum(i));
  copy(AutoVectorizingCopyWithAssumedAlignment<32>{}, rounded, mine.partition_C(here(y, n)));
}

extern "C" __global__ __launch_bounds__(256) void bias_relu(const half_t* h, const half_t* bias, half_t* y, int m, int n) {
  Tensor from = make_tensor(make_gmem_ptr(h), make_shape(m, n), make_stride(n, _1{}));
  Tensor added = make_tensor(make_gmem_ptr(bias), make_shape(m, n), make_stride(_0{}, _1{}));
  Tensor to = make_tensor(make_gmem_ptr(y), make_shape(m, n), make_stride(n, _1{}));
  const int col = blockIdx.x * 256 + threadIdx.x;
  if (col >= n) return;
  for (int row = blockIdx.y; row < m; row += gridDim.y)
    to(row, col) = half_t(fmaxf(float(from(row, col)) + float(added(row, col)), 0.0f));
}
