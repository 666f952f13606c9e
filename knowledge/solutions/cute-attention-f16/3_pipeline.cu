// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 3_pipeline.cu -o k.so
// run: kernelwright evaluate reference.py 3_pipeline.cu --device emulated --set heads=1 --set queries=64 --set keys=128
// Two tiles of keys and values: cp.async (LDGSTS) brings the next one past the registers while the tensor cores work on
// this one. Everything else is 2_tensor_cores.cu.
// shows: HMMA.16816.F32 LDSM.16.MT88 LDGSTS
// language: cute
// axes: S = in0[2], D = in0[3], T = in1[2]
// launch: attend grid(cdiv(S, 64), in0[0] * in0[1]) block(128)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

// 64 x 64 halves; chunk j (16 bytes) of row r stands at j xor (r mod 8): no bank conflicts for ldmatrix.
using Rows8 = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using Tile64 = decltype(tile_to_shape(Rows8{}, Shape<_64, _64>{}));
using Turned = decltype(composition(Tile64{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{}));  // indexed (column, row)
using Mma = decltype(make_tiled_mma(MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{}, Layout<Shape<_4, _1>>{},
                                    cute::Tile<_64, _16, _16>{}));  // each warp has 16 queries and all keys
using Bring = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                                       Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));

__global__ __launch_bounds__(128) void attend(const half_t* q, const half_t* k, const half_t* v, half_t* o, int S, int T,
                                              float scale) {
  __shared__ alignas(128) half_t q_words[64 * 64];
  __shared__ alignas(128) half_t k_words[2][64 * 64];
  __shared__ alignas(128) half_t v_words[2][64 * 64];
  using Row = Shape<int, _64>;
  auto rows = [](auto* p, int n) { return make_tensor(make_gmem_ptr(p), Row{n, _64{}}, make_stride(_64{}, _1{})); };
  const int64_t head = blockIdx.y;
  Tensor gQ = local_tile(rows(q + head * S * 64, S), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gO = local_tile(rows(o + head * S * 64, S), Shape<_64, _64>{}, make_coord(blockIdx.x, 0));
  Tensor gK = local_tile(rows(k + head * T * 64, T), Shape<_64, _64>{}, make_coord(_, 0));  // (64, 64, tiles)
  Tensor gV = local_tile(rows(v + head * T * 64, T), Shape<_64, _64>{}, make_coord(_, 0));
  auto tile_at = [](half_t* words) { return make_tensor(make_smem_ptr(words), Tile64{}); };
  auto turned_at = [](half_t* words) { return make_tensor(make_smem_ptr(words), Turned{}); };

  auto bring = Bring{}.get_slice(threadIdx.x);
  auto start = [&](int tile) {
    copy(Bring{}, bring.partition_S(gK(_, _, tile)), bring.partition_D(tile_at(k_words[tile % 2])));
    copy(Bring{}, bring.partition_S(gV(_, _, tile)), bring.partition_D(tile_at(v_words[tile % 2])));
  };
  copy(Bring{}, bring.partition_S(gQ), bring.partition_D(tile_at(q_words)));
  start(0);
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();

  Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  auto ldQ = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto ldK = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto ldV = make_tiled_copy_B(Copy_Atom<SM75_U16x8_LDSM_T, half_t>{}, mma);
  Tensor rQ = mine.partition_fragment_A(tile_at(q_words));
  Tensor rK = mine.partition_fragment_B(tile_at(k_words[0]));
  Tensor rV = mine.partition_fragment_B(turned_at(v_words[0]));
  copy(ldQ, ldQ.get_slice(threadIdx.x).partition_S(tile_at(q_words)), ldQ.get_slice(threadIdx.x).retile_D(rQ));

  Tensor rO = partition_fragment_C(mma, Shape<_64, _64>{});  // ((2 columns, 2 rows), 1, 8 blocks of 8 columns)
  clear(rO);
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};  // of this thread's two rows; sum over its own columns
  const int tiles = size<2>(gK);
  for (int tile = 0; tile < tiles; ++tile) {
    cp_async_wait<0>();
    __syncthreads();  // this tile is here for all, and nobody reads the one before: its place may be filled
    if (tile + 1 < tiles) start(tile + 1);
    cp_async_fence();

    Tensor sK = tile_at(k_words[tile % 2]);
    copy(ldK, ldK.get_slice(threadIdx.x).partition_S(sK), ldK.get_slice(threadIdx.x).retile_D(rK));
    Tensor rS = partition_fragment_C(mma, Shape<_64, _64>{});
    clear(rS);
    gemm(mma, rQ, rK, rS);

    CUTE_UNROLL
    for (int r = 0; r < 2; ++r) {  // online softmax in powers of two; four lanes share a row
      float best = top[r];
      for (int i = 0; i < 16; ++i) best = fmaxf(best, rS(make_coord(i % 2, r), 0, i / 2));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
      const float shrink = exp2f((top[r] - best) * scale);
      top[r] = best;
      sum[r] *= shrink;
      for (int i = 0; i < 16; ++i) {
        float& s = rS(make_coord(i % 2, r), 0, i / 2);
        sum[r] += s = exp2f((s - best) * scale);
        rO(make_coord(i % 2, r), 0, i / 2) *= shrink;
      }
    }
    // The sums of one product are, rounded, the operand of the next: two blocks of 8 keys make one of 16.
    Tensor rounded = make_fragment_like<half_t>(rS);
    CUTE_UNROLL
    for (int i = 0; i < size(rS); ++i) rounded(i) = half_t(rS(i));
    auto pairs = logical_divide(rounded.layout(), Shape<Underscore, Underscore, _2>{});
    Tensor rP = make_tensor(rounded.data(), make_layout(make_layout(get<0>(pairs), get<2, 0>(pairs)), get<1>(pairs),
                                                        get<2, 1>(pairs)));
    Tensor sV = turned_at(v_words[tile % 2]);
    copy(ldV, ldV.get_slice(threadIdx.x).partition_S(sV), ldV.get_slice(threadIdx.x).retile_D(rV));
    gemm(mma, rP, rV, rO);
  }

  Tensor result = make_fragment_like<half_t>(rO);
  CUTE_UNROLL
  for (int r = 0; r < 2; ++r) {
    sum[r] += __shfl_xor_sync(~0u, sum[r], 1);
    sum[r] += __shfl_xor_sync(~0u, sum[r], 2);
    const float factor = 1.0f / sum[r];
    for (int i = 0; i < 16; ++i)
      result(make_coord(i % 2, r), 0, i / 2) = half_t(rO(make_coord(i % 2, r), 0, i / 2) * factor);
  }
  copy(AutoVectorizingCopyWithAssumedAlignment<32>{}, result, mine.partition_C(gO));
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  const kw_tensor &q = in[0], &k = in[1], &v = in[2];
  NEEDS(q.dtype == KW_FLOAT16 && k.dtype == KW_FLOAT16 && v.dtype == KW_FLOAT16, "float16 q, k and v");
  NEEDS(q.ndim == 4 && k.ndim == 4 && v.ndim == 4, "[batch, heads, sequence, head dimension]");
  NEEDS(q.shape[3] == 64 && k.shape[3] == 64 && v.shape[3] == 64, "head dimension 64");
  const int64_t heads = q.shape[0] * q.shape[1], S = q.shape[2], T = k.shape[2];
  NEEDS(k.shape[0] * k.shape[1] == heads && v.shape[0] * v.shape[1] == heads && v.shape[2] == T, "as many k, v heads as q");
  NEEDS(S > 0 && T > 0 && S % 64 == 0 && T % 64 == 0, "whole tiles of 64 queries and 64 keys");
  NEEDS(S < INT32_MAX / 64 && T < INT32_MAX / 64 && heads > 0 && heads <= 65535, "32-bit indices and a grid of tiles");
  NEEDS(aligned(q.data, 16) && aligned(k.data, 16) && aligned(v.data, 16) && aligned(out[0].data, 4), "16-byte loads");
  const float scale = 1.4426950408889634f / 8;  // log2(e) / sqrt(64)
  attend<<<dim3(S / 64, heads), 128, 0, (cudaStream_t)stream>>>(
      (const half_t*)q.data, (const half_t*)k.data, (const half_t*)v.data, (half_t*)out[0].data, S, T, scale);
  return launched();
}
