// kernel: layer norm of each row with weight and bias, Welford's sums merged by shuffles
// in: float32[12, 83], float32[83], float32[83]
// out: float32[12, 83]
// scalars: 0.001
// model: (in0 - in0.mean(1, keepdims=True)) / np.sqrt(in0.var(1, keepdims=True) + scalar0) * in1 + in2
// tolerance: 1e-4
// axes: R = in0[0], C = in0[1]
// launch: layer_norm grid(R) block(64) args(in0, in1, in2, out0, float(scalar0), C)
struct Moments { float n, mean, m2; };
__device__ Moments merge(Moments a, Moments b) {
  float n = a.n + b.n;
  if (n == 0.f) return a;
  float d = b.mean - a.mean;
  return {n, a.mean + d * b.n / n, a.m2 + b.m2 + d * d * a.n * b.n / n};
}
extern "C" __global__ void layer_norm(const float* in, const float* weight, const float* bias, float* out, float eps,
                                      int cols) {
  __shared__ Moments halves[2];
  in += blockIdx.x * cols;
  out += blockIdx.x * cols;
  Moments x = {0.f, 0.f, 0.f};
  for (int c = threadIdx.x; c < cols; c += 64) {
    x.n += 1.f;
    float d = in[c] - x.mean;
    x.mean += d / x.n;
    x.m2 += d * (in[c] - x.mean);
  }
  for (int o = 16; o; o >>= 1) {
    Moments y;
    y.n = __shfl_xor_sync(0xffffffffu, x.n, o);
    y.mean = __shfl_xor_sync(0xffffffffu, x.mean, o);
    y.m2 = __shfl_xor_sync(0xffffffffu, x.m2, o);
    x = merge(x, y);
  }
  if (threadIdx.x % 32 == 0) halves[threadIdx.x / 32] = x;
  __syncthreads();
  x = merge(halves[0], halves[1]);
  float scale = rsqrtf(x.m2 / x.n + eps);
  for (int c = threadIdx.x; c < cols; c += 64) out[c] = (in[c] - x.mean) * scale * weight[c] + bias[c];
}
