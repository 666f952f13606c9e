// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_pipeline.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_pipeline.cu --device emulated --set rows=20 --set depth=600 --set features=70
// Within its slice a block brings four tiles ahead by cp.async (LDGSTS), 16 bytes a copy instead of 2 a load: with few blocks a
// multiprocessor nobody else hides the latency of memory. Copies outside the matrix write zeros; K % 8 must be 0.
// shows: HMMA.16816.F32 LDSM.16 LDGSTS.E.BYPASS FADD
// language: cute
// tunable SLICES = 16 in {4, 8, 16, 32}
// axes: M = in0[0], K = in0[1], N = in1[0], DEEP = cdiv(cdiv(K, 32), SLICES)
// dtypes: in0 = float16, in1 = float16, out0 = float32
// require: numel(in0) == M * K, in1[1] == K
// require: K % 8 == 0, M * K < 2147483392, N * K < 2147483392, M <= 4194240, M * N * SLICES < 2147483392
// scratch: partial = float32[M * N * SLICES]
// launch: multiply grid(cdiv(N, 64), cdiv(M, 64), SLICES) block(128) args(in0, in1, partial, M, N, K, DEEP)
// launch: finish grid(cdiv(M * N, 256)) block(256) args(partial, out0, M * N)
#include <cute/tensor.hpp>
using namespace cute;

using Rows8 = decltype(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}));
using Staged = decltype(tile_to_shape(Rows8{}, Shape<_64, _32, _4>{}));  // 16 KiB an operand; no bank conflicts
using Atom = Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL_ZFILL<uint128_t>, half_t>;
using Bring = decltype(make_tiled_copy(Atom{}, Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));
using Mma = decltype(make_tiled_mma(MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{}, Layout<Shape<_2, _2>>{},
                                    cute::Tile<_32, _32, _16>{}));
#ifndef SLICES
#define SLICES 16
#endif

extern "C" __global__ __launch_bounds__(128) void multiply(const half_t* x, const half_t* w, float* partial, int m, int n,
                                                          int k, int deep) {
  __shared__ alignas(128) half_t words_a[cosize_v<Staged>];
  __shared__ alignas(128) half_t words_b[cosize_v<Staged>];
  const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64;
  auto bring = Bring{}.get_slice(threadIdx.x);
  auto bringing = [&](const half_t* from, int rows, int block, half_t* words) {  // what copies tile t of an operand to a stage
    auto shape = make_shape(rows, k);
    Tensor all = make_tensor(make_gmem_ptr(from), shape, make_stride(k, _1{}));
    Tensor parts = bring.partition_S(local_tile(all, Shape<_64, _32>{}, make_coord(block, _)));
    Tensor at = bring.partition_S(local_tile(make_identity_tensor(shape), Shape<_64, _32>{}, make_coord(block, _)));
    Tensor to = bring.partition_D(make_tensor(make_smem_ptr(words), Staged{}));
    return [=](int t, int stage) mutable {
      CUTE_UNROLL
      for (int i = 0; i < size<1>(parts); ++i)
        copy(Atom{}.with(elem_less(at(0, i, 0, t), shape)), parts(_, i, 0, t), to(_, i, 0, stage));
    };
  };
  auto bring_x = bringing(x, m, blockIdx.y, words_a);
  auto bring_w = bringing(w, n, blockIdx.x, words_b);
  const int first = blockIdx.z * deep, last = min(first + deep, ceil_div(k, 32));
  auto start = [&](int t) {  // a group is committed even past the end, so that the count of groups stays right
    if (t < last) bring_x(t, t % 4);
    if (t < last) bring_w(t, t % 4);
    cp_async_fence();
  };
  Tensor sA = make_tensor(make_smem_ptr(words_a), Staged{});
  Tensor sB = make_tensor(make_smem_ptr(words_b), Staged{});
  Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  Tensor rA = mine.partition_fragment_A(sA(_, _, 0));
  Tensor rB = mine.partition_fragment_B(sB(_, _, 0));
  Tensor sum = partition_fragment_C(mma, Shape<_64, _64>{});
  auto ldA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto ldB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  Tensor seenA = ldA.get_slice(threadIdx.x).partition_S(sA);
  Tensor seenB = ldB.get_slice(threadIdx.x).partition_S(sB);
  clear(sum);
  for (int t = first; t < first + 3; ++t) start(t);
  for (int t = first; t < last; ++t) {
    cp_async_wait<2>();  // all groups but the two newest: tile t is here,
    __syncthreads();     // for all threads, and nobody reads tile t - 1 any more: its place may be filled
    start(t + 3);
    copy(ldA, seenA(_, _, _, t % 4), ldA.get_slice(threadIdx.x).retile_D(rA));
    copy(ldB, seenB(_, _, _, t % 4), ldB.get_slice(threadIdx.x).retile_D(rB));
    gemm(mma, rA, rB, sum);
  }
  Tensor P = make_tensor(make_gmem_ptr(partial), make_shape(m, n, Int<SLICES>{}), make_stride(n, _1{}, m * n));
  Tensor at = mine.partition_C(make_identity_tensor(Shape<_64, _64>{}));
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i) {
    const int row = row0 + get<0>(at(i)), col = col0 + get<1>(at(i));
    if (row < m && col < n) P(row, col, int(blockIdx.z)) = sum(i);
  }
}

extern "C" __global__ __launch_bounds__(256) void finish(const float* partial, float* y, int outputs) {
  Tensor slices = make_tensor(make_gmem_ptr(partial), make_shape(outputs, Int<SLICES>{}));
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= outputs) return;
  float sum = 0;
  CUTE_UNROLL
  for (int s = 0; s < SLICES; ++s) sum += slices(i, s);
  y[i] = sum;
}
