// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 2_shuffles.cu -o k.so
// run: kernelwright evaluate reference.py 2_shuffles.cu --device emulated --set rows=3 --set columns=1000
// The tree moves into registers: five shuffles join a warp's 32 sums without barrier or shared memory, eight words join the
// warps, one barrier a block instead of nine. Four sums a thread add independent elements, so that four loads are under way.
// shows: LDG.E SHFL.BFLY BAR.SYNC
// language: cuda
// axes: R = in0[0], C = in0[1]
// launch: row_sum grid(R) block(256)
#include "refuse.h"

__device__ float over_warp(float sum) {
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  return sum;
}

__global__ __launch_bounds__(256) void row_sum(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float of_warps[8];
  const float* row = x + (size_t)blockIdx.x * cols;
  float part[4] = {};
  int c = threadIdx.x;
#pragma unroll 1
  for (; c + 3 * 256 < cols; c += 4 * 256)
#pragma unroll
    for (int j = 0; j < 4; ++j) part[j] += row[c + j * 256];
#pragma unroll 1
  for (; c < cols; c += 256) part[0] += row[c];
  const float sum = over_warp((part[0] + part[1]) + (part[2] + part[3]));
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x < 32) {
    const float all = over_warp(threadIdx.x < 8 ? of_warps[threadIdx.x] : 0.0f);
    if (threadIdx.x == 0) y[blockIdx.x] = all;
  }
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix, summed along its last axis");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows > 0 && rows < INT32_MAX && cols > 0 && cols < INT32_MAX - 1024, "32-bit indices in a row");
  row_sum<<<rows, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, cols);
  return launched();
}
