// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_vectors.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_vectors.cu --device emulated --set rows=3 --set classes=100
// The row is cut into tiles of 8192 by a tiled copy of 512 threads, 16 bytes each: four loads a thread are under way, and the
// test for a new largest is made once for 16 values, so that the inner loop is 16 exponentials without a branch. What lies
// beyond the row counts as -inf.
// shows: LDG.E.128 MUFU.EX2 SHFL.BFLY
// language: cute
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, in1 = int64, out0 = float32
// require: numel(in0) == R * C, numel(in1) == R
// require: C % 4 == 0, R * C < 2147483392
// launch: loss grid(R) block(512) args(in0, in1, out0, R, C)
#include <cute/tensor.hpp>
using namespace cute;

using Block = Shape<_8192>;
using Bring = decltype(make_tiled_copy(Copy_Atom<UniversalCopy<uint128_t>, float>{}, Layout<_512>{}, Layout<_4>{}));

struct Partial {
  float top, sum;  // sum of exp(x - top) over what was seen
};

__device__ float shrink(float from, float to) { return from == to ? 1.0f : __expf(from - to); }  // also for -inf, -inf

__device__ Partial over_lanes(Partial p, int first) {
  for (int d = first; d > 0; d /= 2) {
    const Partial o = {__shfl_xor_sync(~0u, p.top, d), __shfl_xor_sync(~0u, p.sum, d)};
    const float top = fmaxf(p.top, o.top);
    p = {top, p.sum * shrink(p.top, top) + o.sum * shrink(o.top, top)};
  }
  return p;
}

extern "C" __global__ __launch_bounds__(512) void loss(const float* x, const long long* target, float* y, int rows, int cols) {
  __shared__ Partial of_warps[16];
  const float* row = x + int(blockIdx.x) * cols;
  auto bring = Bring{}.get_slice(threadIdx.x);
  Tensor all_from = make_tensor(make_gmem_ptr(row), make_shape(cols));
  Tensor from = bring.partition_S(local_tile(all_from, Block{}, make_coord(_)));  // (4 values, 4 steps, tiles)
  Tensor at = bring.partition_S(make_identity_tensor(Block{}));
  Tensor held = make_fragment_like(from(_, _, 0));
  Partial mine = {-INFINITY, 0};
  for (int tile = 0; tile < size<2>(from); ++tile) {
    CUTE_UNROLL
    for (int step = 0; step < size<1>(from); ++step)
      if (tile * 8192 + get<0>(at(0, step)) < cols)
        copy(Bring{}, from(_, step, tile), held(_, step));
      else
        fill(held(_, step), -INFINITY);
    float top = held(0);
    CUTE_UNROLL
    for (int i = 1; i < size(held); ++i) top = fmaxf(top, held(i));
    if (top > mine.top) mine = {top, mine.sum * shrink(mine.top, top)};
    const float base = mine.top > -INFINITY ? mine.top : 0.0f;  // nothing but -inf so far: exp gives 0
    CUTE_UNROLL
    for (int i = 0; i < size(held); ++i) mine.sum += __expf(held(i) - base);
  }
  mine = over_lanes(mine, 16);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  const Partial all = over_lanes(of_warps[threadIdx.x % 16], 8);
  if (threadIdx.x == 0) y[blockIdx.x] = logf(all.sum) + all.top - row[target[blockIdx.x]];
}
