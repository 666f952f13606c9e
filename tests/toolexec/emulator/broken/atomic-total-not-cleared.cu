// kernel: dot product, one atomic addition a warp
// in: float32[650], float32[650]
// out: float32[1]
// model: (in0 * in1).sum(keepdims=True)
// tolerance: 1e-3
// fault: uninitialised
// axes: N = in0[0]
// launch: dot grid(cdiv(N, 128)) block(128) args(in0, in1, out0, N)
extern "C" __global__ void dot(const float* a, const float* b, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i < n ? a[i] * b[i] : 0.0f;
#pragma unroll
  for (int d = 16; d >= 1; d >>= 1) v += __shfl_down_sync(0xffffffffu, v, d);
  if ((threadIdx.x & 31) == 0)
    atomicAdd(out, v);  // <- fault
}
