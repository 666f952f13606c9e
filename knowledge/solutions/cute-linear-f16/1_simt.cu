// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 1_simt.cu -o k.so
// run: kernelwright evaluate reference.py 1_simt.cu --device emulated --set rows=64 --set depth=48 --set features=64
// y[m][n] = sum over k of x[m][k] w[n][k], float16 in and out, float32 sums: torch's F.linear(x, w). 64 x 64 tiles pass
// through shared memory; each of 256 threads adds up 4 x 4 outputs on the ordinary cores.
// shows: LDS FFMA BAR.SYNC
// language: cute
// axes: M = in0[0], K = in0[1], N = in1[0]
// launch: linear grid(cdiv(N, 64), cdiv(M, 64)) block(256)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

using OneTile = Layout<Shape<_64, _16>, Stride<_1, Int<65>>>;  // along k a column; one word of padding

__global__ __launch_bounds__(256) void linear(const half_t* x, const half_t* w, half_t* y, int M, int N, int K) {
  __shared__ float a_words[cosize_v<OneTile>];
  __shared__ float b_words[cosize_v<OneTile>];
  Tensor sA = make_tensor(make_smem_ptr(a_words), OneTile{});
  Tensor sB = make_tensor(make_smem_ptr(b_words), OneTile{});
  Tensor mA = make_tensor(make_gmem_ptr(x), make_shape(M, K), make_stride(K, _1{}));
  Tensor mB = make_tensor(make_gmem_ptr(w), make_shape(N, K), make_stride(K, _1{}));
  Tensor mC = make_tensor(make_gmem_ptr(y), make_shape(M, N), make_stride(N, _1{}));
  Tensor gA = local_tile(mA, Shape<_64, _16>{}, make_coord(blockIdx.y, _));  // (64, 16, tiles along K)
  Tensor gB = local_tile(mB, Shape<_64, _16>{}, make_coord(blockIdx.x, _));
  Tensor gC = local_tile(mC, Shape<_64, _64>{}, make_coord(blockIdx.y, blockIdx.x));

  const int k_of_mine = threadIdx.x % 16, row_of_mine = threadIdx.x / 16;
  auto mma = make_tiled_mma(MMA_Atom<UniversalFMA<float>>{}, Layout<Shape<_16, _16, _1>>{});
  auto mine = mma.get_slice(threadIdx.x);
  Tensor rC = mine.partition_fragment_C(gC);
  clear(rC);
  for (int tile = 0; tile < size<2>(gA); ++tile) {
    CUTE_UNROLL
    for (int i = row_of_mine; i < 64; i += 16) {
      sA(i, k_of_mine) = float(gA(i, k_of_mine, tile));
      sB(i, k_of_mine) = float(gB(i, k_of_mine, tile));
    }
    __syncthreads();
    gemm(mma, mine.partition_A(sA), mine.partition_B(sB), rC);
    __syncthreads();
  }
  Tensor to = mine.partition_C(gC);
  CUTE_UNROLL
  for (int i = 0; i < size(rC); ++i) to(i) = half_t(rC(i));
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT16 && in[1].dtype == KW_FLOAT16, "float16 x and w");
  NEEDS(in[0].ndim == 2 && in[1].ndim == 2 && in[0].shape[1] == in[1].shape[1], "x: [M, K], w: [N, K]");
  const int64_t M = in[0].shape[0], N = in[1].shape[0], K = in[0].shape[1];
  NEEDS(M % 64 == 0 && N % 64 == 0 && K % 16 == 0, "whole tiles of 64 x 64 x 16");
  NEEDS(M > 0 && N > 0 && K > 0 && M <= 64 * 65535ll, "a grid of tiles");
  NEEDS(M * K < INT32_MAX && N * K < INT32_MAX && M * N < INT32_MAX, "32-bit indices");
  linear<<<dim3(N / 64, M / 64), 256, 0, (cudaStream_t)stream>>>(
      (const half_t*)in[0].data, (const half_t*)in[1].data, (half_t*)out[0].data, M, N, K);
  return launched();
}
