// kernel: sum of all, partial sums of 128 in a first launch
// in: int32[1000]
// out: int32[1]
// model: in0.sum(keepdims=True)
// fault: uninitialised
// axes: N = in0[0]
// scratch: partial = int32[cdiv(N, 128)]
// launch: chunks grid(cdiv(N, 128)) block(128) args(in0, partial, N)
// launch: finish grid(1) block(32) args(partial, out0, cdiv(N, 128))
extern "C" __global__ void chunks(const int* in, int* partial, int n) {
  __shared__ int s[128];
  int t = threadIdx.x, start = blockIdx.x * 128;
  if (start + 128 > n) return;  // the whole block leaves
  s[t] = in[start + t];
  __syncthreads();
  for (int d = 64; d; d /= 2) {
    if (t < d) s[t] += s[t + d];
    __syncthreads();
  }
  if (t == 0) partial[blockIdx.x] = s[0];
}
extern "C" __global__ void finish(const int* partial, int* out, int chunks) {
  int sum = 0;
  for (int i = threadIdx.x; i < chunks; i += 32)
    sum += partial[i];  // <- fault
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  if (threadIdx.x == 0) *out = sum;
}
