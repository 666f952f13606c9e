// CuTe: a tiled copy by Universal atoms, and a product by the tensor-core atom of sm_80.
#include "kernelwright.h"
#include <cute/tensor.hpp>
#include <cute/atom/mma_atom.hpp>
using namespace cute;

__global__ void copy_tile(const float* x, float* y, int rows, int cols) {
  auto shape = make_shape(rows, cols);
  auto stride = make_stride(cols, Int<1>{});
  Tensor from = make_tensor(make_gmem_ptr(x), shape, stride);
  Tensor to = make_tensor(make_gmem_ptr(y), shape, stride);
  auto tile = make_shape(Int<16>{}, Int<64>{});
  auto where = make_coord(blockIdx.y, blockIdx.x);
  auto atom = Copy_Atom<UniversalCopy<uint128_t>, float>{};
  auto threads = make_layout(make_shape(Int<16>{}, Int<16>{}), LayoutRight{});
  auto values = make_layout(make_shape(Int<1>{}, Int<4>{}));
  auto mine = make_tiled_copy(atom, threads, values).get_thread_slice(threadIdx.x);
  copy(atom, mine.partition_S(local_tile(from, tile, where)), mine.partition_D(local_tile(to, tile, where)));
}
// C[16 m][8 n] = A[m][k] B[n][k], one warp a tile, through shared memory filled by cp.async.
__global__ void tensor_product(const half_t* a, const half_t* b, float* c, int m, int n, int k) {
  __shared__ alignas(16) half_t as[16 * 16], bs[8 * 16];
  Tensor ga = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, Int<1>{}));
  Tensor gb = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(k, Int<1>{}));
  Tensor gc = make_tensor(make_gmem_ptr(c), make_shape(m, n), make_stride(n, Int<1>{}));
  Tensor sa = make_tensor(make_smem_ptr(as), make_layout(make_shape(Int<16>{}, Int<16>{}), LayoutRight{}));
  Tensor sb = make_tensor(make_smem_ptr(bs), make_layout(make_shape(Int<8>{}, Int<16>{}), LayoutRight{}));
  auto mma = make_tiled_mma(SM80_16x8x16_F32F16F16F32_TN{});
  auto mine = mma.get_thread_slice(threadIdx.x);
  Tensor tc = local_tile(gc, make_shape(Int<16>{}, Int<8>{}), make_coord(blockIdx.y, blockIdx.x));
  Tensor sum = mine.partition_fragment_C(tc);
  clear(sum);
  for (int step = 0; step < k / 16; step++) {
    Tensor ta = local_tile(ga, make_shape(Int<16>{}, Int<16>{}), make_coord(blockIdx.y, step));
    Tensor tb = local_tile(gb, make_shape(Int<8>{}, Int<16>{}), make_coord(blockIdx.x, step));
    auto copier = make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEALWAYS<uint64_t>, half_t>{},
                                  make_layout(make_shape(Int<8>{}, Int<4>{}), LayoutRight{}), make_layout(make_shape(Int<1>{}, Int<4>{})));
    auto part = copier.get_thread_slice(threadIdx.x);
    copy(copier, part.partition_S(ta), part.partition_D(sa));
    copy(copier, part.partition_S(tb), part.partition_D(sb));
    cp_async_fence();
    cp_async_wait<0>();
    __syncthreads();
    Tensor ra = mine.partition_fragment_A(sa);
    Tensor rb = mine.partition_fragment_B(sb);
    copy(mine.partition_A(sa), ra);
    copy(mine.partition_B(sb), rb);
    gemm(mma, ra, rb, sum);
    __syncthreads();  // second
  }
  copy(sum, mine.partition_C(tc));
}
int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* s, kw_workspace*, kw_stream stream) {
  int rows = int(in[0].shape[0]), cols = int(in[0].shape[1]);
  if (s[0].i == 0)
    copy_tile<<<dim3(cols / 64, rows / 16), 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, rows, cols);
  else
    tensor_product<<<dim3(int(in[1].shape[0]) / 8, rows / 16), 32>>>((const half_t*)in[0].data, (const half_t*)in[1].data, (float*)out[0].data,
                                                             rows, int(in[1].shape[0]), cols);
  return cudaGetLastError();
}
