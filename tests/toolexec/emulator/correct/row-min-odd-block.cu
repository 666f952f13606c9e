// kernel: smallest of each row, a tree over a block of 75
// in: int32[17, 190]
// out: int32[17]
// model: in0.min(1)
// axes: R = in0[0], C = in0[1]
// launch: row_min grid(R) block(75) args(in0, out0, C)
extern "C" __global__ void row_min(const int* in, int* out, int cols) {
  __shared__ int s[75];
  const int t = threadIdx.x;
  int v = 0x7fffffff;
  for (int i = t; i < cols; i += blockDim.x) v = min(v, in[blockIdx.x * cols + i]);
  s[t] = v;
  __syncthreads();
  for (int live = blockDim.x; live > 1;) {
    int half = (live + 1) / 2;
    if (t + half < live) s[t] = min(s[t], s[t + half]);
    live = half;
    __syncthreads();
  }
  if (t == 0) out[blockIdx.x] = s[0];
}
