// kernel: sum of all; the last block to finish adds up what each block found
// in: float32[3001]
// out: float32[1]
// model: in0.sum(keepdims=True)
// tolerance: 1e-3
// fault: race
// axes: N = in0[0]
// scratch: partial = float32[cdiv(N, 256)]
// launch: total grid(cdiv(N, 256)) block(256) args(in0, partial, out0, N)
__device__ unsigned int finished = 0;

extern "C" __global__ void total(const float* in, float* partial, float* out, int n) {
  __shared__ float s[256];
  __shared__ bool last;
  int t = threadIdx.x, i = blockIdx.x * 256 + t;
  s[t] = i < n ? in[i] : 0.0f;
  __syncthreads();
  for (int d = 128; d > 0; d >>= 1) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) {
    partial[blockIdx.x] = s[0];  // <- fault
    last = atomicInc(&finished, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (last && t == 0) {
    float sum = 0.0f;
    for (unsigned b = 0; b < gridDim.x; b++)
      sum += partial[b];  // <- fault
    *out = sum;
  }
}
