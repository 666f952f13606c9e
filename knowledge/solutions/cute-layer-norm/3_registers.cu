// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_registers.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_registers.cu --device emulated --set rows=3 --set columns=100
// A warp keeps its row in registers: read once, written once, and the exact two sums of the first rung cost no second read. The
// tiled copy has 8 rows of 32 threads with 1 x 4 values; a row may have up to 128 * STEPS columns. weight and bias are seen
// as matrices whose rows all lie on the same place (stride 0), so that the same slice cuts them. No barrier.
// shows: LDG.E.128 STG.E.128 MUFU.RSQ SHFL.BFLY
// language: cute
// tunable STEPS = 8 in {4, 8, 16}
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, param0 = float32, param1 = float32, out0 = float32
// require: numel(in0) == R * C, numel(param0) == C, numel(param1) == C
// require: C % 4 == 0, C <= 128 * STEPS, R * C < 2147483392
// launch: layer_norm grid(cdiv(R, 8)) block(256) args(in0, param0, param1, out0, R, C)
#include <cute/tensor.hpp>
using namespace cute;
#ifndef STEPS
#define STEPS 8
#endif

using Block = Shape<_8, Int<128 * STEPS>>;
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{},
                                      Layout<Shape<_8, _32>, Stride<_32, _1>>{}, Layout<Shape<_1, _4>>{}));

__device__ float over_warp(float sum) {
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  return sum;
}

extern "C" __global__ __launch_bounds__(256) void layer_norm(const float* __restrict__ x, const float* __restrict__ weight,
                                                             const float* __restrict__ bias, float* __restrict__ y, int rows,
                                                             int cols) {
  auto shape = make_shape(rows, cols);
  auto move = Move{}.get_slice(threadIdx.x);
  auto part = [&](auto* words, auto down) {  // (4 values, 1, STEPS) of this thread
    Tensor all = make_tensor(make_gmem_ptr(words), shape, make_stride(down, _1{}));
    return move.partition_S(local_tile(all, Block{}, make_coord(blockIdx.x, 0)))(_, 0, _);
  };
  Tensor from = part(x, cols);
  Tensor to = part(y, cols);
  Tensor from_weight = part(weight, _0{});
  Tensor from_bias = part(bias, _0{});
  Tensor at = move.partition_S(local_tile(make_identity_tensor(shape), Block{}, make_coord(blockIdx.x, 0)))(0, 0, _);
  Tensor held = make_fragment_like(from);
  if (get<0>(at(0)) >= rows) return;  // whole warps, and no barrier follows
  clear(held);
  float sum = 0, squares = 0;
  CUTE_UNROLL
  for (int s = 0; s < STEPS; ++s)
    if (get<1>(at(s)) < cols) copy(Move{}, from(_, s), held(_, s));
  CUTE_UNROLL
  for (int i = 0; i < size(held); ++i) sum += held(i);
  const float mean = over_warp(sum) / cols;
  CUTE_UNROLL
  for (int s = 0; s < STEPS; ++s)
    if (get<1>(at(s)) < cols)
      CUTE_UNROLL
      for (int i = 0; i < 4; ++i) squares += (held(i, s) - mean) * (held(i, s) - mean);
  const float scale = rsqrtf(over_warp(squares) / cols + 1e-5f);
  Tensor w = make_tensor<float>(Shape<_4>{});
  Tensor b = make_tensor<float>(Shape<_4>{});
  CUTE_UNROLL
  for (int s = 0; s < STEPS; ++s) {
    if (get<1>(at(s)) >= cols) continue;
    copy(Move{}, from_weight(_, s), w);
    copy(Move{}, from_bias(_, s), b);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) held(i, s) = (held(i, s) - mean) * scale * w(i) + b(i);
    copy(Move{}, held(_, s), to(_, s));
  }
}
