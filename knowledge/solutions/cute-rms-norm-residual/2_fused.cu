// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 2_fused.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_fused.cu --device emulated --set rows=3 --set columns=100
// One kernel: x + residual is made where it is needed, once for the squares and once for the result, and never written. All
// accesses are 16 bytes: the rows are seen as (4 neighbours, quads).
// shows: LDG.E.128 STG.E.128 MUFU.RSQ SHFL.BFLY
// language: cute
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, in1 = float32, param0 = float32, out0 = float32
// require: numel(in0) == R * C, numel(in1) == R * C, numel(param0) == C
// require: C % 4 == 0, R * C < 2147483392
// launch: rms_norm grid(R) block(256) args(in0, in1, param0, out0, C)
#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ __launch_bounds__(256) void rms_norm(const float* __restrict__ x, const float* __restrict__ r,
                                                           const float* __restrict__ weight, float* __restrict__ y, int cols) {
  __shared__ float words[8];
  auto quads = make_layout(make_shape(_4{}, cols / 4));
  Tensor in = make_tensor(make_gmem_ptr(x + blockIdx.x * cols), quads);
  Tensor added = make_tensor(make_gmem_ptr(r + blockIdx.x * cols), quads);
  Tensor out = make_tensor(make_gmem_ptr(y + blockIdx.x * cols), quads);
  Tensor scales = make_tensor(make_gmem_ptr(weight), quads);
  Copy_Atom<UniversalCopy<uint128_t>, float> sixteen_bytes;
  Tensor four = make_tensor<float>(Shape<_4>{});
  Tensor other = make_fragment_like(four);
  float sum = 0;
  for (int q = threadIdx.x; q < cols / 4; q += 256) {
    copy(sixteen_bytes, in(_, q), four);
    copy(sixteen_bytes, added(_, q), other);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) sum += (four(i) + other(i)) * (four(i) + other(i));
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = words[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float scale = rsqrtf(sum / cols + 1e-6f);
  for (int q = threadIdx.x; q < cols / 4; q += 256) {
    copy(sixteen_bytes, in(_, q), four);
    copy(sixteen_bytes, added(_, q), other);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) four(i) = (four(i) + other(i)) * scale;
    copy(sixteen_bytes, scales(_, q), other);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) four(i) *= other(i);
    copy(sixteen_bytes, four, out(_, q));
  }
}
