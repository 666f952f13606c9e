// kernel: sum of squares, partial sums a block, block 0 adds them
// in: float32[2000]
// out: float32[1]
// model: (in0 * in0).sum(keepdims=True)
// tolerance: 1e-3
// fault: race uninitialised
// axes: N = in0[0]
// scratch: partial = float32[8]
// launch: squares grid(8) block(64) args(in0, partial, out0, N)
extern "C" __global__ void squares(const float* in, float* partial, float* out, int n) {
  __shared__ float warps[2];
  float v = 0;
  for (int i = blockIdx.x * 64 + threadIdx.x; i < n; i += gridDim.x * 64) v += in[i] * in[i];
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = warps[0] + warps[1];  // <- fault
    __threadfence();
  }
  __syncthreads();
  if (blockIdx.x == 0 && threadIdx.x == 0) {
    float sum = 0;
    for (int b = 0; b < gridDim.x; ++b)
      sum += partial[b];  // <- fault
    out[0] = sum;
  }
}
