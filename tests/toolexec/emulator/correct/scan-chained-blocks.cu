// kernel: inclusive scan in one launch, each block waits for the prefix of the one before
// in: int32[1000]
// out: int32[1000]
// model: in0.cumsum()
// axes: N = in0[0]
// scratch: state = int32[1 + 2 * cdiv(N, 64)]
// launch: clear grid(1) block(64) args(state, 1 + 2 * cdiv(N, 64))
// launch: scan grid(cdiv(N, 64)) block(64) args(in0, out0, state, cdiv(N, 64), N)
extern "C" __global__ void clear(int* state, int n) {
  for (int i = threadIdx.x; i < n; i += blockDim.x) state[i] = 0;
}
// state holds a ticket, then a flag a block, then a prefix a block
extern "C" __global__ void scan(const int* in, int* out, int* state, int blocks, int n) {
  __shared__ int s[64];
  __shared__ int block, before;
  int* flag = state + 1;
  int* prefix = flag + blocks;
  int t = threadIdx.x;
  if (t == 0) block = atomicAdd(state, 1);  // blocks number themselves in the order they start
  __syncthreads();
  int i = block * 64 + t;
  s[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int d = 1; d < 64; d *= 2) {
    int v = t >= d ? s[t - d] : 0;
    __syncthreads();
    s[t] += v;
    __syncthreads();
  }
  if (t == 0) {
    before = 0;
    if (block > 0) {
      while (atomicAdd(&flag[block - 1], 0) == 0) __nanosleep(50);
      __threadfence();
      before = prefix[block - 1];
    }
    prefix[block] = before + s[63];
    __threadfence();
    atomicExch(&flag[block], 1);
  }
  __syncthreads();
  if (i < n) out[i] = before + s[t];
}
