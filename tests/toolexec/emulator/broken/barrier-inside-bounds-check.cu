// kernel: difference to the first of each 256
// in: int32[1000]
// out: int32[1000]
// model: in0 - np.repeat(in0[::256], 256)[:1000]
// fault: barrier-divergence
// axes: N = in0[0]
// launch: offset grid(cdiv(N, 256)) block(256) args(in0, out0, N)
extern "C" __global__ void offset(const int* in, int* out, int n) {
  __shared__ int first;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    if (threadIdx.x == 0) first = in[i];
    __syncthreads();  // <- fault
    out[i] = in[i] - first;
  }
}
