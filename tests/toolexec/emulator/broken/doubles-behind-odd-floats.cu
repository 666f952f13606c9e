// kernel: sum of squares of each row, added up in double
// in: float32[5, 33]
// out: float32[5]
// model: (in0.astype(np.float64) ** 2).sum(1)
// tolerance: 1e-5
// fault: misaligned
// axes: R = in0[0], C = in0[1]
// launch: energy grid(R) block(64) shared(4 * C + 8 * 64) args(in0, out0, C)
extern __shared__ double pool[];
extern "C" __global__ void energy(const float* in, float* out, int cols) {
  float* row = (float*)pool;
  double* acc = (double*)(row + cols);
  const int t = threadIdx.x;
  for (int i = t; i < cols; i += 64) row[i] = in[blockIdx.x * cols + i];
  __syncthreads();
  double s = 0;
  for (int i = t; i < cols; i += 64) s += double(row[i]) * row[i];
  acc[t] = s;  // <- fault
  __syncthreads();
  for (int d = 32; d; d /= 2) {
    if (t < d)
      acc[t] += acc[t + d];  // <- fault
    __syncthreads();
  }
  if (t == 0)
    out[blockIdx.x] = float(acc[0]);  // <- fault
}
