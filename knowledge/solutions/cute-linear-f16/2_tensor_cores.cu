// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 2_tensor_cores.cu -o k.so
// run: kernelwright evaluate reference.py 2_tensor_cores.cu --device emulated --set rows=128 --set depth=96 --set features=128
// y = x w^T on tensor cores: four warps, each 64 x 64 of a 128 x 128 tile, as mma.m16n8k16 (HMMA) with float32 sums;
// operands come to registers by ldmatrix (LDSM). Plain rows of 64 bytes: ldmatrix meets each bank four times.
// shows: HMMA.16816.F32 LDSM.16
// language: cute
// axes: M = in0[0], K = in0[1], N = in1[0]
// launch: linear grid(cdiv(N, 128), cdiv(M, 128)) block(128)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

using OneTile = Layout<Shape<_128, _32>, Stride<_32, _1>>;
using Mma = decltype(make_tiled_mma(MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{}, Layout<Shape<_2, _2>>{},
                                    cute::Tile<_32, _32, _16>{}));
using Bring = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, half_t>{},
                                       Layout<Shape<_32, _4>, Stride<_4, _1>>{}, Layout<Shape<_1, _8>>{}));

__global__ __launch_bounds__(128) void linear(const half_t* x, const half_t* w, half_t* y, int M, int N, int K) {
  __shared__ alignas(128) half_t a_words[cosize_v<OneTile>];
  __shared__ alignas(128) half_t b_words[cosize_v<OneTile>];
  Tensor sA = make_tensor(make_smem_ptr(a_words), OneTile{});
  Tensor sB = make_tensor(make_smem_ptr(b_words), OneTile{});
  Tensor mA = make_tensor(make_gmem_ptr(x), make_shape(M, K), make_stride(K, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(w), make_shape(N, K), make_stride(K, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(y), make_shape(M, N), make_stride(N, _1{}));
  Tensor gA = local_tile(mA, Shape<_128, _32>{}, make_coord(blockIdx.y, _));  // (128, 32, tiles along K)
  Tensor gB = local_tile(mB, Shape<_128, _32>{}, make_coord(blockIdx.x, _));
  Tensor gC = local_tile(mC, Shape<_128, _128>{}, make_coord(blockIdx.y, blockIdx.x));

  auto bring = Bring{}.get_slice(threadIdx.x);
  Tensor fromA = bring.partition_S(gA);
  Tensor fromB = bring.partition_S(gB);
  Tensor toA = bring.partition_D(sA);
  Tensor toB = bring.partition_D(sB);

  Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  Tensor rA = mine.partition_fragment_A(sA);
  Tensor rB = mine.partition_fragment_B(sB);
  Tensor rC = mine.partition_fragment_C(gC);
  auto ldA = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto ldB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  Tensor seenA = ldA.get_slice(threadIdx.x).partition_S(sA);
  Tensor seenB = ldB.get_slice(threadIdx.x).partition_S(sB);
  Tensor intoA = ldA.get_slice(threadIdx.x).retile_D(rA);
  Tensor intoB = ldB.get_slice(threadIdx.x).retile_D(rB);
  clear(rC);

  const int tiles = size<2>(gA);
  for (int k = 0; k < tiles; ++k) {
    copy(Bring{}, fromA(_, _, _, k), toA);
    copy(Bring{}, fromB(_, _, _, k), toB);
    __syncthreads();  // the tile is here for all
    CUTE_UNROLL
    for (int step = 0; step < size<2>(rA); ++step) {
      copy(ldA, seenA(_, _, step), intoA(_, _, step));
      copy(ldB, seenB(_, _, step), intoB(_, _, step));
      gemm(mma, rA(_, _, step), rB(_, _, step), rC);
    }
    __syncthreads();  // and nobody reads it any more
  }
  Tensor rounded = make_fragment_like<half_t>(rC);
  CUTE_UNROLL
  for (int i = 0; i < size(rC); ++i) rounded(i) = half_t(rC(i));
  copy(AutoVectorizingCopyWithAssumedAlignment<32>{}, rounded, mine.partition_C(gC));
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT16 && in[1].dtype == KW_FLOAT16, "float16 x and w");
  NEEDS(in[0].ndim == 2 && in[1].ndim == 2 && in[0].shape[1] == in[1].shape[1], "x: [M, K], w: [N, K]");
  const int64_t M = in[0].shape[0], N = in[1].shape[0], K = in[0].shape[1];
  NEEDS(M % 128 == 0 && N % 128 == 0 && K % 32 == 0, "whole tiles of 128 x 128 x 32");
  NEEDS(aligned(in[0].data, 16) && aligned(in[1].data, 16) && aligned(out[0].data, 4), "16-byte loads");
  NEEDS(M > 0 && N > 0 && K > 0 && M <= 128 * 65535ll, "a grid of tiles");
  NEEDS(M * K < INT32_MAX && N * K < INT32_MAX && M * N < INT32_MAX, "32-bit indices");
  linear<<<dim3(N / 128, M / 128), 128, 0, (cudaStream_t)stream>>>(
      (const half_t*)in[0].data, (const half_t*)in[1].data, (half_t*)out[0].data, M, N, K);
  return launched();
}
