// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 1_tree.cu -o k.so
// run: kernelwright evaluate reference.py 1_tree.cu --device emulated --set rows=3 --set columns=1000
// y[r] = sum of row r, float32, any shape. A block a row: each thread adds every 256th element, then a tree in shared memory
// halves the number of sums eight times, with a barrier each; in the last five rounds one warp works and seven wait.
// shows: LDG.E LDS STS BAR.SYNC
// language: cuda
// axes: R = in0[0], C = in0[1]
// launch: row_sum grid(R) block(256)
#include "refuse.h"

__global__ __launch_bounds__(256) void row_sum(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ float sums[256];
  const float* row = x + (size_t)blockIdx.x * cols;
  float sum = 0;
#pragma unroll 1
  for (int c = threadIdx.x; c < cols; c += 256) sum += row[c];
  sums[threadIdx.x] = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums[threadIdx.x] += sums[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sums[0];
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix, summed along its last axis");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows > 0 && rows < INT32_MAX && cols > 0 && cols < INT32_MAX - 256, "32-bit indices in a row");
  row_sum<<<rows, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, cols);
  return launched();
}
