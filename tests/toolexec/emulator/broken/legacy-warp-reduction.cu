// kernel: sum of each row of 128, the last warp unrolled
// in: float32[12, 128]
// out: float32[12]
// model: in0.sum(1)
// tolerance: 1e-4
// fault: race
// axes: R = in0[0]
// launch: row_sum grid(R) block(128) args(in0, out0)
__device__ void warp_reduce(volatile float* s, int t) {
  s[t] += s[t + 32];  // <- fault
  s[t] += s[t + 16];  // <- fault
  s[t] += s[t + 8];  // <- fault
  s[t] += s[t + 4];  // <- fault
  s[t] += s[t + 2];  // <- fault
  s[t] += s[t + 1];  // <- fault
}
extern "C" __global__ void row_sum(const float* in, float* out) {
  __shared__ float s[128];
  int t = threadIdx.x;
  s[t] = in[blockIdx.x * 128 + t];
  __syncthreads();
  if (t < 64) s[t] += s[t + 64];
  __syncthreads();
  if (t < 32) warp_reduce(s, t);
  if (t == 0) out[blockIdx.x] = s[0];
}
