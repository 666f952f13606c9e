// kernel: clamp, four at a time, the tail one at a time
// in: float32[2051]
// out: float32[2051]
// scalars: -0.5, 0.25
// model: np.clip(in0, np.float32(scalar0), np.float32(scalar1))
// axes: N = in0[0]
// launch: clamp grid(3) block(56) args(in0, out0, float(scalar0), float(scalar1), N)
extern "C" __global__ void clamp(const float* __restrict__ in, float* __restrict__ out, float lo, float hi, int n) {
  auto f = [lo, hi](float v) { return fminf(fmaxf(v, lo), hi); };
  const int first = blockIdx.x * blockDim.x + threadIdx.x, step = gridDim.x * blockDim.x, quads = n >> 2;
  for (int i = first; i < quads; i += step) {
    float4 v = reinterpret_cast<const float4*>(in)[i];
    reinterpret_cast<float4*>(out)[i] = make_float4(f(v.x), f(v.y), f(v.z), f(v.w));
  }
  for (int i = 4 * quads + first; i < n; i += step) out[i] = f(in[i]);
}
