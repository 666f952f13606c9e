// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_scalar.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_scalar.cu --device emulated --set rows=33 --set depth=20 --set features=40
// y[m][n] = (sum over k of x[m][k] w[n][k]) sx[m] sw[n], x and w e4m3: a sign, 4 bits of exponent, 3 of mantissa. Any shape:
// a thread an output, byte by byte. A byte becomes a number in the fields of a half, whose exponent is biased by 8 more:
// hence times 256, exact. e4m3 has no infinity; 0x7f and 0xff are NaN.
// shows: LDG.E.U8 FFMA STG.E
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = uint8, in1 = uint8, in2 = float32, in3 = float32, out0 = float32
// require: numel(in0) == M * K, numel(in1) == N * K, numel(in2) == M, numel(in3) == N
// launch: product grid(cdiv(N, 32), cdiv(M, 8)) block(32, 8) args(in0, in1, in2, in3, out0, M, N, K)
#include <cuda_fp16.h>

__device__ float number(unsigned code) {
  const unsigned size = code & 127;
  const unsigned short bits = (code & 128) << 8 | (size == 127 ? 0x7fff : size << 7);
  return __half2float(__ushort_as_half(bits)) * 256.0f;
}

extern "C" __global__ __launch_bounds__(256) void product(const unsigned char* x, const unsigned char* w, const float* sx,
                                                          const float* sw, float* y, int m, int n, int k) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += number(x[(size_t)row * k + i]) * number(w[(size_t)col * k + i]);
  y[(size_t)row * n + col] = sum * sx[row] * sw[col];
}
