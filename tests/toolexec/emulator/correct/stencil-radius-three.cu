// kernel: moving sum of seven with a halo, zeros beyond the ends
// in: float32[467]
// out: float32[467]
// model: np.convolve(in0, np.ones(7), 'same')
// tolerance: 1e-5
// tunable BLOCK = 64 in {32, 64, 128}
// axes: N = in0[0]
// launch: moving grid(cdiv(N, BLOCK)) block(BLOCK) args(in0, out0, N)
#ifndef BLOCK
#define BLOCK 64
#endif
constexpr int R = 3;
extern "C" __global__ void moving(const float* in, float* out, int n) {
  __shared__ float s[BLOCK + 2 * R];
  const int base = int(blockIdx.x) * BLOCK - R;
  for (int j = threadIdx.x; j < BLOCK + 2 * R; j += BLOCK) {
    int i = base + j;
    s[j] = i >= 0 && i < n ? in[i] : 0.f;
  }
  __syncthreads();
  int i = blockIdx.x * BLOCK + threadIdx.x;
  if (i >= n) return;
  float sum = 0.f;
  for (int d = 0; d < 2 * R + 1; ++d) sum += s[threadIdx.x + d];
  out[i] = sum;
}
