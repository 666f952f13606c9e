// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 2_moments.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_moments.cu --device emulated --set rows=3 --set columns=100
// One pass gathers mean and squared distances together: each thread keeps count, mean and distances of what it saw and takes
// in four values at a time; shuffles join two such triples. The second pass writes. Sums of x and x * x would be shorter but
// cancel when the mean is large against the spread. 16-byte accesses.
// shows: LDG.E.128 STG.E.128 MUFU.RSQ SHFL.BFLY
// language: cute
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, param0 = float32, param1 = float32, out0 = float32
// require: numel(in0) == R * C, numel(param0) == C, numel(param1) == C
// require: C % 4 == 0, R * C < 2147483392
// launch: layer_norm grid(R) block(256) args(in0, param0, param1, out0, R, C)
#include <cute/tensor.hpp>
using namespace cute;

struct Moments {
  float count, mean, away;  // away: sum of squared distances from the mean
};

__device__ Moments join(Moments a, Moments b) {
  const float count = a.count + b.count, part = count > 0 ? b.count / count : 0.0f, apart = b.mean - a.mean;
  return {count, a.mean + apart * part, a.away + b.away + apart * apart * a.count * part};
}

__device__ Moments over_lanes(Moments m, int first) {
  for (int d = first; d > 0; d /= 2)
    m = join(m, {__shfl_xor_sync(~0u, m.count, d), __shfl_xor_sync(~0u, m.mean, d), __shfl_xor_sync(~0u, m.away, d)});
  return m;
}

extern "C" __global__ __launch_bounds__(256) void layer_norm(const float* __restrict__ x, const float* __restrict__ weight,
                                                             const float* __restrict__ bias, float* __restrict__ y, int rows,
                                                             int cols) {
  __shared__ Moments of_warps[8];
  auto quads = make_layout(make_shape(_4{}, cols / 4));  // (4 neighbours, how many of them)
  Tensor in = make_tensor(make_gmem_ptr(x + blockIdx.x * cols), quads);
  Tensor out = make_tensor(make_gmem_ptr(y + blockIdx.x * cols), quads);
  Tensor of_weight = make_tensor(make_gmem_ptr(weight), quads);
  Tensor of_bias = make_tensor(make_gmem_ptr(bias), quads);
  Copy_Atom<UniversalCopy<uint128_t>, float> sixteen_bytes;
  Tensor four = make_tensor<float>(Shape<_4>{});
  Tensor w = make_fragment_like(four);
  Tensor b = make_fragment_like(four);

  Moments mine = {0, 0, 0};
  for (int q = threadIdx.x; q < cols / 4; q += 256) {
    copy(sixteen_bytes, in(_, q), four);
    Moments quad = {4, ((four(0) + four(1)) + (four(2) + four(3))) / 4, 0};
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) quad.away += (four(i) - quad.mean) * (four(i) - quad.mean);
    mine = join(mine, quad);
  }
  mine = over_lanes(mine, 16);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  const Moments all = over_lanes(of_warps[threadIdx.x % 8], 4);
  const float scale = rsqrtf(all.away / cols + 1e-5f);
  for (int q = threadIdx.x; q < cols / 4; q += 256) {
    copy(sixteen_bytes, in(_, q), four);
    copy(sixteen_bytes, of_weight(_, q), w);
    copy(sixteen_bytes, of_bias(_, q), b);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) four(i) = (four(i) - all.mean) * scale * w(i) + b(i);
    copy(sixteen_bytes, four, out(_, q));
  }
}
