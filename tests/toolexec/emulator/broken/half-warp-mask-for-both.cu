// kernel: largest of each row of sixteen, half a warp a row
// in: int32[30, 16]
// out: int32[30]
// model: in0.max(1)
// fault: wrong-mask
#include "kernelwright.h"
template <int W>
__device__ int group_max(int v) {
  constexpr unsigned mask = (1u << W) - 1;
  for (int d = W / 2; d > 0; d /= 2)
    v = max(v, __shfl_xor_sync(mask, v, d, W));  // <- fault
  return v;
}
template <int W>
__global__ void row_max(const int* in, int* out, int rows) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int m = group_max<W>(in[i]);
  if (i % W == 0) out[i / W] = m;
}
int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  int rows = int(in[0].shape[0]);
  if (rows % 6 || in[0].shape[1] != 16) return 1;
  row_max<16><<<rows / 6, 96, 0, (cudaStream_t)stream>>>((const int*)in[0].data, (int*)out[0].data, rows);
  return cudaGetLastError();
}
