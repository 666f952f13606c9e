// kernel: sum of the 64-wide columns of each row, two cp.async stages
// in: float32[5, 1536]
// out: float32[5, 64]
// model: in0.reshape(5, 24, 64).sum(1)
// tolerance: 1e-4
// fault: pending-copy
// axes: R = in0[0], C = in0[1]
// launch: fold grid(R) block(64) args(in0, out0, C // 256)
#include <cuda_pipeline.h>
extern "C" __global__ void fold(const float* in, float* out, int tiles) {
  __shared__ alignas(16) float buf[2][256];
  const int t = threadIdx.x;
  const float* src = in + blockIdx.x * tiles * 256 + 4 * t;
  __pipeline_memcpy_async(&buf[0][4 * t], src, 16);
  __pipeline_commit();
  float sum = 0.f;
  for (int k = 0; k < tiles; ++k) {
    if (k + 1 < tiles) {
      __pipeline_memcpy_async(&buf[(k + 1) & 1][4 * t], src + (k + 1) * 256, 16);  // <- fault
      __pipeline_commit();
    }
    __pipeline_wait_prior(1);
    __syncthreads();
    for (int i = 0; i < 256; i += 64)
      sum += buf[k & 1][i + t];  // <- fault
    __syncthreads();
  }
  out[blockIdx.x * 64 + t] = sum;
}
