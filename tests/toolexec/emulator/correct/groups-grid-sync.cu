// kernel: two smoothing steps round a ring in one cooperative launch, both given back
// in: int32[1003]
// out: int32[1003], int32[1003]
// model: (lambda f: (f(in0), f(f(in0))))(lambda x: np.roll(x, 1) + 2 * x + np.roll(x, -1))
#include <cooperative_groups.h>
#include "kernelwright.h"
namespace cg = cooperative_groups;

__device__ void smooth(cg::grid_group& grid, const int* x, int* y, int n) {
  for (int i = int(grid.thread_rank()); i < n; i += int(grid.size()))
    y[i] = x[(i + n - 1) % n] + 2 * x[i] + x[(i + 1) % n];
}
__global__ void two_steps(const int* in, int* once, int* twice, int n) {
  cg::grid_group grid = cg::this_grid();
  smooth(grid, in, once, n);
  grid.sync();
  smooth(grid, once, twice, n);
}
int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  const int* x = (const int*)in[0].data;
  int* once = (int*)out[0].data;
  int* twice = (int*)out[1].data;
  int n = int(in[0].shape[0]);
  if (n < 2) return 1;
  void* args[] = {&x, &once, &twice, &n};
  cudaLaunchCooperativeKernel((const void*)two_steps, dim3(5), dim3(96), args, 0, (cudaStream_t)stream);
  return int(cudaGetLastError());
}
