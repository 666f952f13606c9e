// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_outputs.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_outputs.cu --device emulated --set tokens=33 --set depth=20 --set features=40
// y[t] = w[expert[t]] x[t], a thread an output, one launch for all experts. Any shape. Neighbouring tokens have other experts,
// so that nobody shares what it reads of w: all of w[e] is read again for each token.
// shows: LDG.E.U16 FFMA STG.E.U16
// language: cuda
// axes: T = in0[0], K = in0[1], E = in1[0], N = in1[1]
// dtypes: in0 = float16, in1 = float16, in2 = int32, out0 = float16
// require: in1[2] == K, numel(in2) == T, T <= 524280
// launch: multiply grid(cdiv(N, 32), cdiv(T, 8)) block(32, 8) args(in0, in1, in2, out0, T, N, K)
#include <cuda_fp16.h>

extern "C" __global__ __launch_bounds__(256) void multiply(const __half* x, const __half* w, const int* expert, __half* y,
                                                           int tokens, int n, int k) {
  const int col = blockIdx.x * 32 + threadIdx.x, t = blockIdx.y * 8 + threadIdx.y;
  if (t >= tokens || col >= n) return;
  const __half* row = w + ((size_t)expert[t] * n + col) * k;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += __half2float(x[(size_t)t * k + i]) * __half2float(row[i]);
  y[(size_t)t * n + col] = __float2half(sum);
}
