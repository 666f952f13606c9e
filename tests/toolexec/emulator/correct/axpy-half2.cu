// kernel: a x + y in half precision, two at a time, an odd one left over
// in: float16[1001], float16[1001]
// out: float16[1001]
// scalars: 0.25
// model: (np.float32(scalar0) * in0.astype(np.float32) + in1.astype(np.float32)).astype(np.float16)
// tolerance: 2e-3
// axes: N = in0[0]
// launch: axpy grid(cdiv(N, 256)) block(128) args(in0, in1, out0, float(scalar0), N)
#include <cuda_fp16.h>
extern "C" __global__ void axpy(const half* x, const half* y, half* out, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, pairs = n / 2;
  if (i < pairs) {
    half2 u = reinterpret_cast<const half2*>(x)[i], v = reinterpret_cast<const half2*>(y)[i];
    reinterpret_cast<half2*>(out)[i] = __hfma2(__float2half2_rn(a), u, v);
  } else if (i == pairs && n % 2 == 1) {
    out[n - 1] = __hfma(__float2half(a), x[n - 1], y[n - 1]);
  }
}
