// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_three_passes.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_three_passes.cu --device emulated --set rows=3 --set columns=100
// y = softmax(x) along rows of a float32 matrix, any shape. A block a row, three passes over it in global memory: largest,
// sum of exp(x - largest), quotients. Two of the three reads are for one number each; exp is computed twice.
// shows: LDG.E STG.E MUFU.EX2 SHFL.BFLY
// language: cuda
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, out0 = float32
// require: numel(in0) == R * C
// launch: softmax grid(R) block(256) args(in0, out0, C)
#ifndef INFINITY  // NVRTC has no math.h
#define INFINITY __int_as_float(0x7f800000)
#endif
template <class Op>
__device__ float over_block(float value, Op op, float* words) {
  for (int d = 16; d > 0; d /= 2) value = op(value, __shfl_xor_sync(~0u, value, d));
  if (threadIdx.x % 32 == 0) words[threadIdx.x / 32] = value;
  __syncthreads();
  value = words[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) value = op(value, __shfl_xor_sync(~0u, value, d));
  __syncthreads();  // words may be written again
  return value;
}

extern "C" __global__ __launch_bounds__(256) void softmax(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float words[8];
  const float* in = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  float top = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < cols; c += 256) top = fmaxf(top, in[c]);
  top = over_block(top, [](float a, float b) { return fmaxf(a, b); }, words);
  for (int c = threadIdx.x; c < cols; c += 256) sum += __expf(in[c] - top);
  sum = over_block(sum, [](float a, float b) { return a + b; }, words);
  for (int c = threadIdx.x; c < cols; c += 256) out[c] = __expf(in[c] - top) / sum;
}
