// kernel: moving sum of seven, zeros beyond the ends
// in: float32[500]
// out: float32[500]
// model: np.convolve(in0, np.ones(7), 'same')
// tolerance: 1e-5
// fault: out-of-bounds
// axes: N = in0[0]
// launch: moving grid(cdiv(N, 128)) block(128) args(in0, out0, N)
#define R 3
#define B 128
__device__ __forceinline__ float at(const float* in, int i, int n) { return i >= 0 && i < n ? in[i] : 0.f; }
extern "C" __global__ void moving(const float* in, float* out, int n) {
  __shared__ float s[B + R];
  const int t = threadIdx.x, i = blockIdx.x * B + t;
  s[t + R] = at(in, i, n);  // <- fault
  if (t < R) {
    s[t] = at(in, i - R, n);
    s[t + B + R] = at(in, i + B, n);  // <- fault
  }
  __syncthreads();
  float sum = 0.f;
#pragma unroll
  for (int d = 0; d <= 2 * R; ++d)
    sum += s[t + d];  // <- fault
  if (i < n) out[i] = sum;
}
