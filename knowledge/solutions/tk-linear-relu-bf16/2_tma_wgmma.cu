// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 2_tma_wgmma.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 2_tma_wgmma.cu --device none
// Four warps as one warpgroup: TMA (UTMALDG) brings a tile of a and one of b into swizzled shared memory, wgmma (HGMMA)
// multiplies them from there, 64 x 128 x 64 at a time; the epilogue stays the same. Load and multiplication still take turns.
// shows: HGMMA UTMALDG FMNMX
// language: thunderkittens
// architectures: sm_90a
// axes: M = in0[0], K = in0[1], N = in1[1]
// launch: linear grid(N // 128, M // 64) block(128) shared(25 * 1024)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

using TileA = st_bf<64, 64>;
using TileB = st_bf<64, 128>;
struct Globals {
  gl<bf16, 1, 1, -1, -1, TileA> a;
  gl<bf16, 1, 1, -1, -1, TileB> b;
  gl<bf16, 1, 1, -1, -1> c;
  gl<bf16, 1, 1, 1, -1> bias;
};
constexpr int SHARED = sizeof(TileA) + sizeof(TileB) + 1024;  // and room to align

__global__ __launch_bounds__(128) void linear(const __grid_constant__ Globals g) {
  extern __shared__ alignment_dummy raw[];
  tma_swizzle_allocator shared((int*)&raw[0]);
  TileA& a = shared.allocate<TileA>();
  TileB& b = shared.allocate<TileB>();
  __shared__ semaphore arrived;
  if (threadIdx.x == 0) init_semaphore(arrived, 0, 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // TMA shall see the semaphores as they are now
  __syncthreads();
  const int row = blockIdx.y, col = blockIdx.x;
  rt_fl<16, 128> sum;  // of each of the four warps: 64 x 128 together
  warp::zero(sum);
  for (int k = 0; k < g.a.cols() / 64; ++k) {
    if (threadIdx.x == 0) {
      tma::expect_bytes(arrived, sizeof(TileA) + sizeof(TileB));
      tma::load_async(a, g.a, {row, k}, arrived);
      tma::load_async(b, g.b, {k, col}, arrived);
    }
    wait(arrived, k % 2);
    warpgroup::mma_AB(sum, a, b);
    warpgroup::mma_async_wait();
    __syncthreads();  // all four warps are through: the tiles may be overwritten
  }
  rt_fl<16, 128>::row_vec added;  // a value a column, where the sums of that column are
  warp::load(added, g.bias, {0, col});
  warp::add_col(sum, sum, added);
  warp::relu(sum, sum);
  warpgroup::store(g.c, sum, {row, col});
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  for (int i = 0; i < 3; ++i) NEEDS(in[i].dtype == KW_BFLOAT16 && aligned(in[i].data, 16), "bfloat16, aligned to 16 bytes");
  NEEDS(in[0].ndim == 2 && in[1].ndim == 2 && in[0].shape[1] == in[1].shape[0], "a: [M, K], b: [K, N]");
  const int64_t M = in[0].shape[0], N = in[1].shape[1], K = in[0].shape[1];
  NEEDS(M > 0 && N > 0 && K > 0 && M % 64 == 0 && N % 128 == 0 && K % 64 == 0, "whole tiles of 64 x 128 x 64");
  NEEDS(in[2].ndim == 1 && in[2].shape[0] == N, "bias: [N]");
  NEEDS(M <= 64 * 65535ll && N < INT32_MAX && K < INT32_MAX, "a grid of tiles");
  NEEDS(aligned(out[0].data, 16), "16-byte rows");
  Globals g{{(bf16*)in[0].data, nullptr, nullptr, size_t(M), size_t(K)},
            {(bf16*)in[1].data, nullptr, nullptr, size_t(K), size_t(N)},
            {(bf16*)out[0].data, nullptr, nullptr, size_t(M), size_t(N)},
            {(bf16*)in[2].data, nullptr, nullptr, nullptr, size_t(N)}};
  cudaFuncSetAttribute(linear, cudaFuncAttributeMaxDynamicSharedMemorySize, SHARED);
  linear<<<dim3(N / 128, M / 64), 128, SHARED, (cudaStream_t)stream>>>(g);
  return launched();
}
