// kernel: sums of neighbours, 64 a block
// in: int32[130]
// out: int32[129]
// model: in0[1:] + in0[:-1]
// fault: race
#include "kernelwright.h"
__global__ void neighbours(const int* in, int* out, int n) {
  int i = blockIdx.x * (blockDim.x - 1) + threadIdx.x;
  if (i < n) out[i] = in[i] + in[i + 1];  // <- fault
}
int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  int n = int(out[0].shape[0]);
  neighbours<<<(n + 62) / 63, 64, 0, (cudaStream_t)stream>>>((const int*)in[0].data, (int*)out[0].data, n);
  return cudaGetLastError();
}
