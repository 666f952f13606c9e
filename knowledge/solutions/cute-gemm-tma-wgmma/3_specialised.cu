// nvcc -std=c++17 -O3 -gencode arch=compute_90a,code=sm_90a --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 3_specialised.cu -o k.so
// run: kernelwright evaluate reference.py 3_specialised.cu --device none
// Warps are specialised: a producer warpgroup, which gives its registers back (USETMAXREG), does nothing but ask for tiles; two
// consumer warpgroups with 64 x 256 outputs each do nothing but multiply. They meet in mbarriers, full and empty, a pair a
// stage: no __syncthreads in the loop, and a late consumer never keeps the copies from running ahead.
// shows: HGMMA.64x256x16.F32 UTMALDG.2D SYNCS USETMAXREG
// language: cute
// architectures: sm_90a
// axes: M = in0[0], K = in0[1], N = in1[0]
// launch: linear grid(cdiv(N, 256), cdiv(M, 128)) block(384) shared(197632)
#include <cute/tensor.hpp>
#include <cutlass/arch/barrier.h>
#include <cutlass/arch/reg_reconfig.h>
#include "refuse.h"
using namespace cute;

using StagedA = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_128, _64, _4>{}));
using StagedB = decltype(tile_to_shape(GMMA::Layout_K_SW128_Atom<half_t>{}, Shape<_256, _64, _4>{}));
using Mma = decltype(make_tiled_mma(SM90_64x256x16_F32F16F16_SS<GMMA::Major::K, GMMA::Major::K>{},
                                    Layout<Shape<_2, _1, _1>>{}));

struct Shared {
  alignas(1024) half_t a[cosize_v<StagedA>];
  alignas(1024) half_t b[cosize_v<StagedB>];
  uint64_t full[4], empty[4];
};
static_assert(sizeof(Shared) == 197632, "as the launch line says");

template <class TmaX, class TmaW>
__global__ __launch_bounds__(384) void linear(const __grid_constant__ TmaX tma_x, const __grid_constant__ TmaW tma_w,
                                              half_t* y, int m, int n, int k) {
  extern __shared__ __align__(1024) unsigned char bytes[];
  Shared& shared = *reinterpret_cast<Shared*>(bytes);
  Tensor sA = make_tensor(make_smem_ptr(shared.a), StagedA{});
  Tensor sB = make_tensor(make_smem_ptr(shared.b), StagedB{});
  Tensor gA = local_tile(tma_x.get_tma_tensor(make_shape(m, k)), Shape<_128, _64>{}, make_coord(blockIdx.y, _));
  Tensor gB = local_tile(tma_w.get_tma_tensor(make_shape(n, k)), Shape<_256, _64>{}, make_coord(blockIdx.x, _));
  auto [fromA, toA] = tma_partition(tma_x, group_modes<0, 2>(sA), group_modes<0, 2>(gA));  // (tile, tiles), (tile, stages)
  auto [fromB, toB] = tma_partition(tma_w, group_modes<0, 2>(sB), group_modes<0, 2>(gB));
  const int tiles = size<2>(gA);
  if (threadIdx.x == 0)
    for (int s = 0; s < 4; ++s) {
      initialize_barrier(shared.full[s], 1);
      initialize_barrier(shared.empty[s], 8);  // a lane of each consumer warp
    }
  cutlass::arch::fence_barrier_init();  // barriers are seen by the copy engine
  __syncthreads();

  if (threadIdx.x < 128) {  // producer
    cutlass::arch::warpgroup_reg_dealloc<40>();
    if (threadIdx.x > 0) return;
    for (int t = 0; t < tiles; ++t) {
      uint64_t& full = shared.full[t % 4];
      if (t >= 4) wait_barrier(shared.empty[t % 4], (t / 4 - 1) % 2);
      set_barrier_transaction_bytes(full, (128 + 256) * 64 * sizeof(half_t));
      copy(tma_x.with(full), fromA(_, t), toA(_, t % 4));
      copy(tma_w.with(full), fromB(_, t), toB(_, t % 4));
    }
    return;
  }
  cutlass::arch::warpgroup_reg_alloc<232>();  // 128 threads of 40 and 256 of 232: 64,512 of 65,536
  Mma mma;
  auto mine = mma.get_slice(threadIdx.x - 128);
  Tensor rA = mine.make_fragment_A(mine.partition_A(sA));  // descriptors of shared memory, not values
  Tensor rB = mine.make_fragment_B(mine.partition_B(sB));
  Tensor sum = partition_fragment_C(mma, Shape<_128, _256>{});
  clear(sum);
  for (int t = 0; t < tiles; ++t) {
    wait_barrier(shared.full[t % 4], t / 4 % 2);  // the parity of how often this stage was filled
    warpgroup_fence_operand(sum);
    warpgroup_arrive();
    gemm(mma, rA(_, _, _, t % 4), rB(_, _, _, t % 4), sum);
    warpgroup_commit_batch();
    warpgroup_wait<1>();  // tile t - 1 is multiplied by this warp: its stage may be filled as soon as all say so
    if (t > 0 && threadIdx.x % 32 == 0) arrive_barrier(shared.empty[(t - 1) % 4]);
  }
  warpgroup_wait<0>();
  warpgroup_fence_operand(sum);
  auto shape = make_shape(m, n);
  auto here = make_coord(blockIdx.y, blockIdx.x);
  Tensor Y = make_tensor(make_gmem_ptr(y), shape, make_stride(n, _1{}));
  Tensor to = recast<uint32_t>(mine.partition_C(local_tile(Y, Shape<_128, _256>{}, here)));  // pairs of neighbours
  Tensor at = mine.partition_C(local_tile(make_identity_tensor(shape), Shape<_128, _256>{}, here));
  Tensor rounded = make_fragment_like<half_t>(sum);
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i) rounded(i) = half_t(sum(i));
  Tensor pairs = recast<uint32_t>(rounded);
  CUTE_UNROLL
  for (int i = 0; i < size(pairs); ++i)
    if (elem_less(at(2 * i), shape)) to(i) = pairs(i);
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT16 && in[1].dtype == KW_FLOAT16, "float16 x and w");
  NEEDS(in[0].ndim == 2 && in[1].ndim == 2 && in[0].shape[1] == in[1].shape[1], "x: [M, K], w: [N, K]");
  const int64_t m = in[0].shape[0], n = in[1].shape[0], k = in[0].shape[1];
  NEEDS(m > 0 && n > 0 && k > 0 && m * k < INT32_MAX && n * k < INT32_MAX && m * n < INT32_MAX, "32-bit indices");
  NEEDS(k % 8 == 0 && n % 2 == 0, "TMA: rows a multiple of 16 bytes; stores of 4 bytes");
  NEEDS(aligned(in[0].data, 16) && aligned(in[1].data, 16) && aligned(out[0].data, 4), "TMA: 16-byte addresses");
  auto operand = [&](const kw_tensor& t, int64_t rows) {
    return make_tensor(make_gmem_ptr((const half_t*)t.data), make_shape(int(rows), int(k)), make_stride(int(k), _1{}));
  };
  auto tma_x = make_tma_copy(SM90_TMA_LOAD{}, operand(in[0], m), StagedA{}(_, _, Int<0>{}));
  auto tma_w = make_tma_copy(SM90_TMA_LOAD{}, operand(in[1], n), StagedB{}(_, _, Int<0>{}));
  auto kernel = linear<decltype(tma_x), decltype(tma_w)>;
  cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, sizeof(Shared));
  const dim3 grid((n + 256 - 1) / 256, (m + 127) / 128);
  kernel<<<grid, 384, sizeof(Shared), (cudaStream_t)stream>>>(tma_x, tma_w, (half_t*)out[0].data, m, n, k);
  return launched();
}
