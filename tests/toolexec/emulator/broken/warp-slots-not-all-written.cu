// kernel: sum of each row, five warps a row
// in: float32[9, 333]
// out: float32[9]
// model: in0.sum(1)
// tolerance: 1e-4
// fault: uninitialised
// axes: R = in0[0], C = in0[1]
// launch: row_sum grid(R) block(160) args(in0, out0, C)
__device__ float warp_sum(float v) {
  for (int d = 16; d > 0; d /= 2) v += __shfl_xor_sync(0xffffffff, v, d);
  return v;
}
extern "C" __global__ void row_sum(const float* in, float* out, int cols) {
  __shared__ float slots[32];
  float v = 0.f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) v += in[blockIdx.x * cols + i];
  v = warp_sum(v);
  if (threadIdx.x % 32 == 0) slots[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x < 32) {
    v = slots[threadIdx.x];  // <- fault
    v = warp_sum(v);
    if (threadIdx.x == 0) out[blockIdx.x] = v;
  }
}
