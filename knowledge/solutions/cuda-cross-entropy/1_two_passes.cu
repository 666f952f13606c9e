// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_two_passes.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_two_passes.cu --device emulated --set rows=3 --set classes=100
// loss[r] = log(sum(exp(x[r, :] - top))) + top - x[r, target[r]], float32 logits, int64 targets: a block a row, one pass for
// the largest and one for the sum. No probability is written, so that already a matrix less is moved than by softmax and log.
// shows: LDG.E MUFU.EX2 SHFL.BFLY
// language: cuda
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, in1 = int64, out0 = float32
// require: numel(in0) == R * C, numel(in1) == R
// launch: loss grid(R) block(256) args(in0, in1, out0, C)
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

extern "C" __global__ __launch_bounds__(256) void loss(const float* x, const long long* target, float* y, int cols) {
  __shared__ float words[8];
  const float* in = x + (size_t)blockIdx.x * cols;
  float top = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < cols; c += 256) top = fmaxf(top, in[c]);
  top = over_block(top, [](float a, float b) { return fmaxf(a, b); }, words);
  for (int c = threadIdx.x; c < cols; c += 256) sum += __expf(in[c] - top);
  sum = over_block(sum, [](float a, float b) { return a + b; }, words);
  if (threadIdx.x == 0) y[blockIdx.x] = logf(sum) + top - in[target[blockIdx.x]];
}
