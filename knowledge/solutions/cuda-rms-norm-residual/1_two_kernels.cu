// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_two_kernels.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_two_kernels.cu --device emulated --set rows=3 --set columns=100
// y = rms_norm(x + residual) * weight along rows, float32, any shape: as eager torch would, a kernel for the sum, which is
// written to memory and read again, twice, by the kernel of the norm.
// shows: LDG.E STG.E MUFU.RSQ SHFL.BFLY
// language: cuda
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, in1 = float32, param0 = float32, out0 = float32
// require: numel(in0) == R * C, numel(in1) == R * C, numel(param0) == C
// scratch: h = float32[R * C]
// launch: add grid(cdiv(R * C, 256)) block(256) args(in0, in1, h, int64(R * C))
// launch: rms_norm grid(R) block(256) args(h, param0, out0, C)

extern "C" __global__ __launch_bounds__(256) void add(const float* x, const float* r, float* h, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i < n) h[i] = x[i] + r[i];
}

extern "C" __global__ __launch_bounds__(256) void rms_norm(const float* h, const float* weight, float* y, int cols) {
  __shared__ float of_warps[8];
  const float* in = h + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 256) sum += in[c] * in[c];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = of_warps[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float scale = rsqrtf(sum / cols + 1e-6f);
  for (int c = threadIdx.x; c < cols; c += 256) out[c] = in[c] * scale * weight[c];
}
