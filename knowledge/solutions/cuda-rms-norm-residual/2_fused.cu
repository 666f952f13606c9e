// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_fused.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_fused.cu --device emulated --set rows=3 --set columns=100
// One kernel: the sum x + residual is made where it is needed, once for the square and once for the result, and never
// written. Five matrices' worth of traffic (2 + 1 for the sum, 1 + 1 + 1 for the norm) become four reads and one write, of
// which the second two reads mostly hit the L2 or L1: the row was read a moment ago.
// shows: LDG.E STG.E MUFU.RSQ SHFL.BFLY
// language: cuda
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, in1 = float32, param0 = float32, out0 = float32
// require: numel(in0) == R * C, numel(in1) == R * C, numel(param0) == C
// launch: rms_norm grid(R) block(256) args(in0, in1, param0, out0, C)

extern "C" __global__ __launch_bounds__(256) void rms_norm(const float* x, const float* r, const float* weight, float* y,
                                                       int cols) {
  __shared__ float of_warps[8];
  const size_t start = (size_t)blockIdx.x * cols;
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 256) {
    const float h = x[start + c] + r[start + c];
    sum += h * h;
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = of_warps[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float scale = rsqrtf(sum / cols + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += 256) y[start + c] = (x[start + c] + r[start + c]) * scale * weight[c];
}
