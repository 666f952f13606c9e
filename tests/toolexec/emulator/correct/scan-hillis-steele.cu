// kernel: inclusive scan of each row, two buffers in turn
// in: int32[9, 83]
// out: int32[9, 83]
// model: in0.cumsum(1)
// axes: R = in0[0], C = in0[1]
// require: C <= 128
// launch: scan grid(R) block(C) shared(8 * C) args(in0, out0)
extern "C" __global__ void scan(const int* in, int* out) {
  extern __shared__ int s[];
  int n = blockDim.x, t = threadIdx.x;
  int* from = s;
  int* to = s + n;
  from[t] = in[blockIdx.x * n + t];
  for (int d = 1; d < n; d *= 2) {
    __syncthreads();
    to[t] = t >= d ? from[t] + from[t - d] : from[t];
    int* swap = from;
    from = to;
    to = swap;
  }
  out[blockIdx.x * n + t] = from[t];
}
