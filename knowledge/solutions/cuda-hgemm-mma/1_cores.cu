// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_cores.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_cores.cu --device emulated --set rows=33 --set depth=40 --set features=20
// y = x @ w.T, float16 with float32 sums, any shape, on ordinary cores: 16 x 16 outputs a block, tiles 16 deep in shared
// memory. Each product costs a conversion and an FMA; tensor cores do 256 a cycle and quarter of a multiprocessor instead.
// shows: LDS FFMA HADD2.F32
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = float16, in1 = float16, out0 = float16
// require: numel(in0) == M * K, numel(in1) == N * K
// launch: linear grid(cdiv(N, 16), cdiv(M, 16)) block(16, 16) args(in0, in1, out0, M, N, K)
#include <cuda_fp16.h>

extern "C" __global__ __launch_bounds__(256) void linear(const __half* x, const __half* w, __half* y, int m, int n, int k) {
  __shared__ __half tx[16][18], tw[16][18];
  const int col = blockIdx.x * 16 + threadIdx.x, row = blockIdx.y * 16 + threadIdx.y;
  const int wrow = blockIdx.x * 16 + threadIdx.y;
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += 16) {
    const int d = k0 + threadIdx.x;
    tx[threadIdx.y][threadIdx.x] = row < m && d < k ? x[(size_t)row * k + d] : __float2half(0.0f);
    tw[threadIdx.y][threadIdx.x] = wrow < n && d < k ? w[(size_t)wrow * k + d] : __float2half(0.0f);
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) sum += __half2float(tx[threadIdx.y][i]) * __half2float(tw[threadIdx.x][i]);
    __syncthreads();  // the tiles may be written again
  }
  if (row < m && col < n) y[(size_t)row * n + col] = __float2half(sum);
}
