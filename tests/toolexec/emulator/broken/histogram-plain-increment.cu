// kernel: how often each digit occurs, shared bins a block
// in: int32[1500]
// out: int32[10]
// model: np.bincount(in0, minlength=10)
// fault: race
// axes: N = in0[0]
// launch: clear grid(1) block(32) args(out0)
// launch: count grid(3) block(128) args(in0, out0, N)
extern "C" __global__ void clear(int* out) {
  if (threadIdx.x < 10) out[threadIdx.x] = 0;
}
extern "C" __global__ void count(const int* in, int* out, int n) {
  __shared__ int bins[10];
  if (threadIdx.x < 10) bins[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    bins[in[i]]++;  // <- fault
  __syncthreads();
  if (threadIdx.x < 10) atomicAdd(&out[threadIdx.x], bins[threadIdx.x]);
}
