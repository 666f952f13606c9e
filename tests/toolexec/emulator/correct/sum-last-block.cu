// kernel: sum of all in one launch; the last block to finish adds up what each block found
// in: int32[5000]
// out: int32[1]
// model: in0.sum(keepdims=True)
// axes: N = in0[0]
// scratch: partial = int32[cdiv(N, 192)]
// launch: total grid(cdiv(N, 192)) block(192) args(in0, partial, out0, N)
__device__ unsigned int finished = 0;

__device__ int block_sum(int v) {
  __shared__ int warps[6];
  for (int d = 16; d; d >>= 1) v += __shfl_down_sync(~0u, v, d);
  __syncthreads();  // a second call must not overwrite what the first still reads
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = v;
  __syncthreads();
  int s = 0;
  for (int w = 0; w < 6; w++) s += warps[w];
  return s;
}
extern "C" __global__ void total(const int* in, int* partial, int* out, int n) {
  __shared__ bool last;
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int s = block_sum(i < n ? in[i] : 0);
  if (threadIdx.x == 0) {
    partial[blockIdx.x] = s;
    __threadfence();
    unsigned int ticket = atomicInc(&finished, gridDim.x - 1);
    __threadfence();
    last = ticket == gridDim.x - 1;
  }
  __syncthreads();
  if (last) {
    int v = 0;
    for (int b = threadIdx.x; b < gridDim.x; b += blockDim.x) v += partial[b];
    v = block_sum(v);
    if (threadIdx.x == 0) *out = v;
  }
}
