// kernel: inclusive scan of each row, two buffers
// in: int32[6, 64]
// out: int32[6, 64]
// model: in0.cumsum(1)
// fault: race uninitialised
// axes: R = in0[0]
// launch: scan grid(R) block(64) args(in0, out0)
extern "C" __global__ void scan(const int* in, int* out) {
  __shared__ int s[2 * 64];
  int t = threadIdx.x, pout = 0, pin = 1;
  s[pout * 64 + t] = in[blockIdx.x * 64 + t];
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    pout = 1 - pout;
    if (t >= d)
      s[pout * 64 + t] = s[pin * 64 + t] + s[pin * 64 + t - d];  // <- fault
    else
      s[pout * 64 + t] = s[pin * 64 + t];  // <- fault
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = s[pout * 64 + t];
}
