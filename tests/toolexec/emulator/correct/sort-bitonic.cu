// kernel: each row sorted, padded to 128 in shared memory
// in: float32[4, 100]
// out: float32[4, 100]
// model: np.sort(in0, 1)
// axes: R = in0[0], C = in0[1]
// require: C <= 128
// launch: sort_rows grid(R) block(64) args(in0, out0, C)
extern "C" __global__ void sort_rows(const float* in, float* out, int cols) {
  __shared__ float s[128];
  int t = threadIdx.x;
  for (int i = t; i < 128; i += 64) s[i] = i < cols ? in[blockIdx.x * cols + i] : 1e30f;
  for (int size = 2; size <= 128; size *= 2)
    for (int d = size / 2; d > 0; d /= 2) {
      __syncthreads();
      int a = t / d * 2 * d + t % d, b = a + d;
      bool up = (a & size) == 0;
      float x = s[a], y = s[b];
      if ((x > y) == up) {
        s[a] = y;
        s[b] = x;
      }
    }
  __syncthreads();
  for (int i = t; i < cols; i += 64) out[blockIdx.x * cols + i] = s[i];
}
