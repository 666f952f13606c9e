// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_pipeline.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_pipeline.cu --device emulated --set heads=1 --set tokens=128
// Two tiles of keys and values: cp.async (LDGSTS) brings the next one past the registers while tensor cores work on this one; one
// barrier a tile. Blocks of late queries have the most tiles: they get the low numbers and start first, so that the grid does
// not end with a few long blocks alone.
// shows: HMMA.16816.F32 LDSM.16.M88 LDSM.16.MT88 MUFU.EX2 LDGSTS.E.BYPASS
// language: cute
// axes: T = in0[2], BH = in0[0] * in0[1]
// dtypes: in0 = float16, in1 = float16, in2 = float16, out0 = float16
// require: numel(in1) == numel(in0), numel(in2) == numel(in0)
// require: in0[3] == 64, in1[2] == T, T % 64 == 0, BH <= 65535, BH * T < 33554432
// launch: attend grid(T // 64, BH) block(128) args(in0, in1, in2, out0, T)
#include <cute/tensor.hpp>
using namespace cute;

// 64 x 64 halves; chunk j (16 bytes) of row r stands at j xor (r mod 8): no bank conflicts for ldmatrix.
using Rows8 = decltype(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_8, _64>, Stride<_64, _1>>{}));
using Tile64 = decltype(tile_to_shape(Rows8{}, Shape<_64, _64>{}));
using Turned = decltype(composition(Tile64{}, Layout<Shape<_64, _64>, Stride<_64, _1>>{}));  // indexed (column, row)
using Mma = decltype(make_tiled_mma(MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{}, Layout<Shape<_4, _1>>{},
                                    cute::Tile<_64, _16, _16>{}));  // each warp has 16 queries and all keys
using Bring = decltype(make_tiled_copy(Copy_Atom<SM80_CP_ASYNC_CACHEGLOBAL<uint128_t>, half_t>{},
                                       Layout<Shape<_16, _8>, Stride<_8, _1>>{}, Layout<Shape<_1, _8>>{}));

extern "C" __global__ __launch_bounds__(128) void attend(const half_t* q, const half_t* k, const half_t* v, half_t* o,
                                                         int tokens) {
  constexpr float SCALE = 0.125f * 1.4426950408889634f;  // 1 / sqrt(64), and exp2 instead of exp
  __shared__ alignas(128) half_t words_q[64 * 64], words_k[2][64 * 64], words_v[2][64 * 64];
  const int block = gridDim.x - 1 - blockIdx.x;
  const int64_t from = int64_t(blockIdx.y) * tokens * 64;
  auto tiles_of = [&](auto* p) {  // (64 rows, 64 dimensions, tiles) of this head
    Tensor rows = make_tensor(make_gmem_ptr(p + from), make_shape(tokens, _64{}), make_stride(_64{}, _1{}));
    return local_tile(rows, Shape<_64, _64>{}, make_coord(_, 0));
  };
  auto tile_at = [](half_t* words) { return make_tensor(make_smem_ptr(words), Tile64{}); };
  auto turned_at = [](half_t* words) { return make_tensor(make_smem_ptr(words), Turned{}); };
  Tensor gK = tiles_of(k);
  Tensor gV = tiles_of(v);
  auto bring = Bring{}.get_slice(threadIdx.x);
  auto start = [&](int tile) {
    copy(Bring{}, bring.partition_S(gK(_, _, tile)), bring.partition_D(tile_at(words_k[tile % 2])));
    copy(Bring{}, bring.partition_S(gV(_, _, tile)), bring.partition_D(tile_at(words_v[tile % 2])));
  };
  copy(Bring{}, bring.partition_S(tiles_of(q)(_, _, block)), bring.partition_D(tile_at(words_q)));
  start(0);
  cp_async_fence();
  cp_async_wait<0>();
  __syncthreads();

  Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  auto ldQ = make_tiled_copy_A(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto ldK = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  auto ldV = make_tiled_copy_B(Copy_Atom<SM75_U16x8_LDSM_T, half_t>{}, mma);
  Tensor rQ = mine.partition_fragment_A(tile_at(words_q));
  Tensor rK = mine.partition_fragment_B(tile_at(words_k[0]));
  Tensor rV = mine.partition_fragment_B(turned_at(words_v[0]));
  copy(ldQ, ldQ.get_slice(threadIdx.x).partition_S(tile_at(words_q)), ldQ.get_slice(threadIdx.x).retile_D(rQ));
  Tensor at = mine.partition_C(make_identity_tensor(Shape<_64, _64>{}));  // (query, key) in a tile
  Tensor rS = partition_fragment_C(mma, Shape<_64, _64>{});
  Tensor rO = partition_fragment_C(mma, Shape<_64, _64>{});  // ((2 columns, 2 rows), 1, 8 blocks of 8 columns)
  clear(rO);
  float top[2] = {-INFINITY, -INFINITY}, sum[2] = {0, 0};  // of this thread's two rows; sum over its own columns
  for (int tile = 0; tile <= block; ++tile) {
    cp_async_wait<0>();
    __syncthreads();  // this tile is here for all, and nobody reads the one before: its place may be filled
    if (tile < block) start(tile + 1);
    cp_async_fence();
    Tensor sK = tile_at(words_k[tile % 2]);
    copy(ldK, ldK.get_slice(threadIdx.x).partition_S(sK), ldK.get_slice(threadIdx.x).retile_D(rK));
    clear(rS);
    gemm(mma, rQ, rK, rS);
    if (tile == block)  // the diagonal: only here are there keys behind a query
      CUTE_UNROLL
      for (int i = 0; i < size(rS); ++i)
        if (get<1>(at(i)) > get<0>(at(i))) rS(i) = -INFINITY;
    CUTE_UNROLL
    for (int r = 0; r < 2; ++r) {  // online softmax in powers of two; four lanes share a row
      float best = top[r];
      for (int i = 0; i < 16; ++i) best = fmaxf(best, rS(make_coord(i % 2, r), 0, i / 2));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 1));
      best = fmaxf(best, __shfl_xor_sync(~0u, best, 2));
      const float shrink = exp2f((top[r] - best) * SCALE);
      top[r] = best;
      sum[r] *= shrink;
      for (int i = 0; i < 16; ++i) {
        float& s = rS(make_coord(i % 2, r), 0, i / 2);
        sum[r] += s = exp2f((s - best) * SCALE);
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
    Tensor sV = turned_at(words_v[tile % 2]);
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
  copy(AutoVectorizingCopyWithAssumedAlignment<32>{}, result, mine.partition_C(tiles_of(o)(_, _, block)));
}
