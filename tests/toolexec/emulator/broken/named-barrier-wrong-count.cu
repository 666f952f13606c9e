// kernel: sum and maximum of each row; warp 0 finds the maximum, warps 1 to 3 the sum
// in: float32[11, 130]
// out: float32[11], float32[11]
// model: (in0.sum(1), in0.max(1))
// tolerance: 1e-4
// fault: deadlock
// axes: R = in0[0], C = in0[1]
// launch: sum_max grid(R) block(128) args(in0, out0, out1, C)
extern "C" __global__ void sum_max(const float* in, float* sums, float* maxima, int cols) {
  __shared__ float part[96];
  const float* row = in + blockIdx.x * cols;
  if (threadIdx.x < 32) {
    float m = -1e30f;
    for (int i = threadIdx.x; i < cols; i += 32) m = fmaxf(m, row[i]);
    for (int d = 16; d; d /= 2) m = fmaxf(m, __shfl_xor_sync(0xffffffff, m, d));
    if (threadIdx.x == 0) maxima[blockIdx.x] = m;
  } else {
    int t = threadIdx.x - 32;
    float s = 0;
    for (int i = t; i < cols; i += 96) s += row[i];
    part[t] = s;
    asm volatile("bar.sync 1, 128;" ::: "memory");  // <- fault
    if (t == 0) {
      for (int i = 1; i < 96; i++) s += part[i];
      sums[blockIdx.x] = s;
    }
  }
}
