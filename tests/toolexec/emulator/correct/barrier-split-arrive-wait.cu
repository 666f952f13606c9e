// kernel: each element plus its mirror image in the row, own work between arriving and waiting
// in: float32[6, 72]
// out: float32[6, 72]
// model: in0 * in0 + in0[:, ::-1]
// tolerance: 1e-5
// axes: R = in0[0], C = in0[1]
// require: C <= 128
// launch: mirror grid(R) block(C) args(in0, out0)
#include <cuda/barrier>
#include <cuda/std/utility>
using barrier = cuda::barrier<cuda::thread_scope_block>;
#pragma nv_diag_suppress static_var_with_dynamic_init
extern "C" __global__ void mirror(const float* in, float* out) {
  __shared__ barrier bar;
  __shared__ float row[128];
  int t = threadIdx.x, c = blockDim.x;
  if (t == 0) init(&bar, c);
  __syncthreads();
  float x = in[blockIdx.x * c + t];
  row[t] = x;
  barrier::arrival_token token = bar.arrive();
  float square = x * x;
  bar.wait(cuda::std::move(token));
  out[blockIdx.x * c + t] = square + row[c - 1 - t];
}
