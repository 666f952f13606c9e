// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_registers.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_registers.cu --device emulated --set rows=3 --set columns=100
// The sum of a row stays in the registers of its block: the tile is one row, a tiled copy of 256 threads with four values cuts
// it, STEPS quads a thread. Two reads and one write of the matrix, which is the least there is; one barrier. A tunable says
// how long a row may be: 1024 columns a step.
// shows: LDG.E.128 STG.E.128 MUFU.RSQ SHFL.BFLY
// language: cute
// tunable STEPS = 2 in {1, 2, 4, 8}
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, in1 = float32, param0 = float32, out0 = float32
// require: numel(in0) == R * C, numel(in1) == R * C, numel(param0) == C
// require: C % 4 == 0, C <= 1024 * STEPS, R * C < 2147483392
// launch: rms_norm grid(R) block(256) args(in0, in1, param0, out0, C)
#include <cute/tensor.hpp>
using namespace cute;
#ifndef STEPS
#define STEPS 2
#endif

using Block = Shape<Int<1024 * STEPS>>;
using Move = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_256>{}, Layout<_4>{}));

extern "C" __global__ __launch_bounds__(256) void rms_norm(const float* __restrict__ x, const float* __restrict__ r,
                                                           const float* __restrict__ weight, float* __restrict__ y, int cols) {
  __shared__ float words[8];
  auto move = Move{}.get_slice(threadIdx.x);
  auto part = [&](auto* row) {  // (4 values, STEPS) of this thread
    return move.partition_S(local_tile(make_tensor(make_gmem_ptr(row), make_shape(cols)), Block{}, make_coord(0)));
  };
  Tensor from = part(x + blockIdx.x * cols);
  Tensor from_added = part(r + blockIdx.x * cols);
  Tensor from_weight = part(weight);
  Tensor to = part(y + blockIdx.x * cols);
  Tensor held = make_fragment_like(from);
  Tensor other = make_fragment_like(from);
  Tensor at = move.partition_S(make_identity_tensor(Block{}));
  clear(held);
  clear(other);
  float sum = 0;
  CUTE_UNROLL
  for (int s = 0; s < STEPS; ++s)
    if (get<0>(at(0, s)) < cols) {
      copy(Move{}, from(_, s), held(_, s));
      copy(Move{}, from_added(_, s), other(_, s));
    }
  CUTE_UNROLL
  for (int i = 0; i < size(held); ++i) {
    held(i) += other(i);
    sum += held(i) * held(i);
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = words[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float scale = rsqrtf(sum / cols + 1e-6f);
  CUTE_UNROLL
  for (int s = 0; s < STEPS; ++s) {
    if (get<0>(at(0, s)) >= cols) continue;
    copy(Move{}, from_weight(_, s), other(_, s));
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) held(i, s) *= scale * other(i, s);
    copy(Move{}, held(_, s), to(_, s));
  }
}
