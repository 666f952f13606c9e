// kernel: rows times two, four rows a block
// in: float32[22, 40]
// out: float32[22, 40]
// model: in0 * 2
// fault: race
#include "kernelwright.h"
namespace {
constexpr int kRows = 4;
__global__ void twice(const float* __restrict__ in, float* __restrict__ out, int rows, int cols) {
  const int first = blockIdx.x * kRows;
  for (int r = first; r <= first + kRows && r < rows; ++r)
    for (int c = threadIdx.x; c < cols; c += blockDim.x)
      out[r * cols + c] = 2.f * in[r * cols + c];  // <- fault
}
}  // namespace
int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  int rows = int(in[0].shape[0]), cols = int(in[0].shape[1]);
  dim3 grid((rows + kRows - 1) / kRows), block(32);
  twice<<<grid, block, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, rows, cols);
  return cudaGetLastError();
}
