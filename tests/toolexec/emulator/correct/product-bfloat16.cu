// kernel: x y + y, computed in bfloat16
// in: float32[333], float32[333]
// out: float32[333]
// model: in0 * in1 + in1
// tolerance: 3e-2
// axes: N = in0[0]
// launch: product grid(cdiv(N, 128)) block(64) args(in0, in1, out0, N)
#include <cuda_bf16.h>
extern "C" __global__ void product(const float* x, const float* y, float* out, int n) {
  int i = 2 * (blockIdx.x * blockDim.x + threadIdx.x);
  if (i + 1 < n) {
    __nv_bfloat162 u = __floats2bfloat162_rn(x[i], x[i + 1]);
    __nv_bfloat162 v = __floats2bfloat162_rn(y[i], y[i + 1]);
    float2 r = __bfloat1622float2(__hadd2(__hmul2(u, v), v));
    out[i] = r.x;
    out[i + 1] = r.y;
  } else if (i < n) {
    __nv_bfloat16 u = __float2bfloat16(x[i]), v = __float2bfloat16(y[i]);
    out[i] = __bfloat162float(__hadd(__hmul(u, v), v));
  }
}
