// kernel: ReLU, four at a time
// in: float32[1027]
// out: float32[1027]
// model: np.maximum(in0, 0)
// fault: out-of-bounds
// axes: N = in0[0]
// launch: relu4 grid(cdiv(N, 512)) block(128) args(in0, out0, N)
extern "C" __global__ void relu4(const float4* __restrict__ in, float4* __restrict__ out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < (n + 3) / 4) {
    float4 v = in[i];  // <- fault
    v.x = fmaxf(v.x, 0.f);
    v.y = fmaxf(v.y, 0.f);
    v.z = fmaxf(v.z, 0.f);
    v.w = fmaxf(v.w, 0.f);
    out[i] = v;  // <- fault
  }
}
