// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 1_three_passes.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_three_passes.cu --device emulated --set rows=3 --set columns=100
// y = (x - mean) * rsqrt(variance + 1e-5) * weight + bias along rows, float32, any shape. A block a row and three passes over
// it: the mean, the mean of squared distances from it, the result. Exact, and two of three reads are for one number each.
// shows: LDG.E STG.E MUFU.RSQ SHFL.BFLY
// language: cute
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, param0 = float32, param1 = float32, out0 = float32
// require: numel(in0) == R * C, numel(param0) == C, numel(param1) == C
// require: R * C < 2147483392
// launch: layer_norm grid(R) block(256) args(in0, param0, param1, out0, R, C)
#include <cute/tensor_impl.hpp>  // tensors and layouts, no atoms
using namespace cute;

__device__ float over_block(float sum, float* words) {
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = words[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  __syncthreads();  // words may be written again
  return sum;
}

extern "C" __global__ __launch_bounds__(256) void layer_norm(const float* x, const float* weight, const float* bias, float* y,
                                                             int rows, int cols) {
  __shared__ float words[8];
  auto whole = make_layout(make_shape(rows, cols), make_stride(cols, _1{}));
  Tensor in = make_tensor(make_gmem_ptr(x), whole)(int(blockIdx.x), _);
  Tensor out = make_tensor(make_gmem_ptr(y), whole)(int(blockIdx.x), _);
  float sum = 0, squares = 0;
  for (int c = threadIdx.x; c < cols; c += 256) sum += in(c);
  const float mean = over_block(sum, words) / cols;
  for (int c = threadIdx.x; c < cols; c += 256) squares += (in(c) - mean) * (in(c) - mean);
  const float scale = rsqrtf(over_block(squares, words) / cols + 1e-5f);
  for (int c = threadIdx.x; c < cols; c += 256) out(c) = (in(c) - mean) * scale * weight[c] + bias[c];
}
