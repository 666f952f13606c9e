// kernel: swap neighbours in each row, chunks of 128 through shared memory
// in: float32[7, 300]
// out: float32[7, 300]
// model: in0.reshape(7, 150, 2)[:, :, ::-1].reshape(7, 300)
// fault: barrier-divergence
// axes: R = in0[0], C = in0[1]
// launch: swap_pairs grid(R) block(128) args(in0, out0, C)
extern "C" __global__ void swap_pairs(const float* in, float* out, int cols) {
  __shared__ float chunk[128];
  const float* src = in + blockIdx.x * cols;
  float* dst = out + blockIdx.x * cols;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) {
    chunk[threadIdx.x] = src[i];
    __syncthreads();  // <- fault
    dst[i] = chunk[threadIdx.x ^ 1];
    __syncthreads();  // <- fault
  }
}
