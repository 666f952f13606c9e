// kernel: reverse each row, fetched with cp.async
// in: float32[7, 256]
// out: float32[7, 256]
// model: in0[:, ::-1]
// fault: pending-copy
// axes: R = in0[0]
// launch: reverse grid(R) block(64) args(in0, out0)
#include <cuda_pipeline.h>
extern "C" __global__ void reverse(const float* in, float* out) {
  __shared__ alignas(16) float row[256];
  int t = threadIdx.x;
  __pipeline_memcpy_async(&row[4 * t], in + blockIdx.x * 256 + 4 * t, 16);  // <- fault
  __pipeline_commit();
  __syncthreads();
  for (int i = t; i < 256; i += 64)
    out[blockIdx.x * 256 + i] = row[255 - i];  // <- fault
}
