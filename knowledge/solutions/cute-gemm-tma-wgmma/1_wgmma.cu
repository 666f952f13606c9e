// nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 1_wgmma.cu -o k.so
// run: kernelwright evaluate reference.py 1_wgmma.cu --device none
// y = x w^T, float16 with float32 sums, by wgmma (HGMMA): one instruction of 128 threads multiplies 64 x 128 x 16 straight from
// shared memory; no operand passes registers, no ldmatrix is issued. cp.async fills one tile of each operand, in the layout
// that wgmma reads: rows of 128 bytes, swizzled; the proxy fence makes it visible to the tensor cores.
// shows: HGMMA.64x128x16.F32 LDGSTS.E.BYPASS
// language: cute
// architectures: sm_90a
// axes: M = in0[0], K = in0[1], N = in1[0]
// launch: linear grid(N // 128, M // 128) block(128)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

using TileAB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64>{}));
using Mma = decltype(make_tiled_mma(SM90_64x128x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{}));
using Bring = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                                       Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));

__global__ __launch_bounds__(128) void linear(const half_t* x, const half_t* w, half_t* y, int m, int n, int k) {
  __shared__ alignas(1024) half_t words_a[cosize_v<TileAB>];
  __shared__ alignas(1024) half_t words_b[cosize_v<TileAB>];
  Tensor sA = make_tensor(make_smem_ptr(words_a), TileAB{});
  Tensor sB = make_tensor(make_smem_ptr(words_b), TileAB{});
  Tensor X = make_tensor(make_gmem_ptr(x), make_shape(m, k), make_stride(k, _1{}));
  Tensor W = make_tensor(make_gmem_ptr(w), make_shape(n, k), make_stride(k, _1{}));
  Tensor Y = make_tensor(make_gmem_ptr(y), make_shape(m, n), make_stride(n, _1{}));
  auto bring = Bring{}.get_slice(threadIdx.x);
  Tensor fromA = bring.partition_S(local_tile(X, Shape<_128, _64>{}, make_coord(blockIdx.y, _)));
  Tensor fromB = bring.partition_S(local_tile(W, Shape<_128, _64>{}, make_coord(blockIdx.x, _)));
  Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  Tensor rA = mine.make_fragment_A(mine.partition_A(sA));  // descriptors of shared memory, not values
  Tensor rB = mine.make_fragment_B(mine.partition_B(sB));
  Tensor sum = partition_fragment_C(mma, Shape<_128, _128>{});
  clear(sum);
  for (int t = 0; t < size<3>(fromA); ++t) {
    copy(Bring{}, fromA(_, _, _, t), bring.partition_D(sA));
    copy(Bring{}, fromB(_, _, _, t), bring.partition_D(sB));
    cp_async_fence();
    cp_async_wait<0>();
    tma_store_fence();  // fence.proxy.async: what was written is seen by wgmma
    __syncthreads();
    warpgroup_fence_operand(sum);
    warpgroup_arrive();
    gemm(mma, rA, rB, sum);
    warpgroup_commit_batch();
    warpgroup_wait<0>();
    warpgroup_fence_operand(sum);
    __syncthreads();  // the tiles may be written again
  }
  Tensor rounded = make_fragment_like<half_t>(sum);
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i) rounded(i) = half_t(sum(i));
  Tensor gC = local_tile(Y, Shape<_128, _128>{}, make_coord(blockIdx.y, blockIdx.x));
  copy(AutoVectorizingCopyWithAssumedAlignment<32>{}, rounded, mine.partition_C(gC));
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT16 && in[1].dtype == KW_FLOAT16, "float16 x and w");
  NEEDS(in[0].ndim == 2 && in[1].ndim == 2 && in[0].shape[1] == in[1].shape[1], "x: [M, K], w: [N, K]");
  const int64_t m = in[0].shape[0], n = in[1].shape[0], k = in[0].shape[1];
  NEEDS(m > 0 && n > 0 && k > 0 && m * k < INT32_MAX && n * k < INT32_MAX && m * n < INT32_MAX, "32-bit indices");
  NEEDS(m % 128 == 0 && n % 128 == 0 && k % 64 == 0, "whole tiles of 128 x 128 x 64");
  NEEDS(aligned(in[0].data, 16) && aligned(in[1].data, 16) && aligned(out[0].data, 4), "16-byte copies");
  linear<<<dim3(n / 128, m / 128), 128, 0, (cudaStream_t)stream>>>((const half_t*)in[0].data, (const half_t*)in[1].data,
                                                                   (half_t*)out[0].data, m, n, k);
  return launched();
}
