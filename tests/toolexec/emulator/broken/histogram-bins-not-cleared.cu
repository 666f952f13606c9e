// kernel: histogram of digits in shared memory, one a row
// in: int32[6, 200]
// out: int32[6, 10]
// model: np.stack([np.bincount(r, minlength=10) for r in in0])
// fault: uninitialised
// axes: R = in0[0], C = in0[1]
// launch: digits grid(R) block(64) args(in0, out0, C)
extern "C" __global__ void digits(const int* in, int* out, int cols) {
  __shared__ int bins[10];
  __syncthreads();
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    atomicAdd(&bins[in[blockIdx.x * cols + i]], 1);  // <- fault
  __syncthreads();
  if (threadIdx.x < 10)
    out[blockIdx.x * 10 + threadIdx.x] = bins[threadIdx.x];  // <- fault
}
