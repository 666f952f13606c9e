// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 2_tile.cu -o k.so
// run: kernelwright evaluate reference.py 2_tile.cu --device emulated --set rows=40 --set columns=33
// Through a 32 x 32 tile in shared memory: reads and stores of global memory are both coalesced, and the turn happens where
// it is cheap. A block of 32 x 8 threads moves four rows a thread. The column is read from shared memory at a stride of 32
// words: all 32 lanes of a warp ask the same bank, 32 turns for one load.
// shows: LDS STS LDG.E STG.E
// language: cuda
// axes: R = in0[0], C = in0[1]
// launch: transpose grid(cdiv(C, 32), cdiv(R, 32)) block(32, 8)
#include "refuse.h"

__global__ __launch_bounds__(256) void transpose(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[32][32];
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 32 + threadIdx.y;
#pragma unroll
  for (int j = 0; j < 32; j += 8)
    if (r + j < rows && c < cols) tile[threadIdx.y + j][threadIdx.x] = x[(size_t)(r + j) * cols + c];
  __syncthreads();
  const int tr = blockIdx.y * 32 + threadIdx.x, tc = blockIdx.x * 32 + threadIdx.y;  // neighbours along rows now
#pragma unroll
  for (int j = 0; j < 32; j += 8)
    if (tr < rows && tc + j < cols) y[(size_t)(tc + j) * rows + tr] = tile[threadIdx.x][threadIdx.y + j];
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows > 0 && cols > 0 && cols < INT32_MAX - 32 && (rows + 31) / 32 <= 65535, "at most 2097120 rows: the grid's y");
  transpose<<<dim3((cols + 31) / 32, (rows + 31) / 32), dim3(32, 8), 0, (cudaStream_t)stream>>>(
      (const float*)in[0].data, (float*)out[0].data, rows, cols);
  return launched();
}
