// kernel: twice the vector, then turned round in place
// in: int32[500]
// out: int32[500]
// model: 2 * in0[::-1]
// fault: deadlock barrier-divergence
#include <cooperative_groups.h>
#include "kernelwright.h"
namespace cg = cooperative_groups;

__global__ void flip(const int* in, int* out, int n) {
  cg::grid_group grid = cg::this_grid();
  int i = int(grid.thread_rank());
  if (i >= n) return;
  out[i] = 2 * in[i];
  grid.sync();  // <- fault
  int v = out[n - 1 - i];
  grid.sync();  // <- fault
  out[i] = v;
}
int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  const int* x = (const int*)in[0].data;
  int* y = (int*)out[0].data;
  int n = int(in[0].shape[0]);
  void* args[] = {&x, &y, &n};
  cudaLaunchCooperativeKernel((const void*)flip, dim3(n / 128 + 2), dim3(128), args, 0, (cudaStream_t)stream);
  return cudaGetLastError();
}
