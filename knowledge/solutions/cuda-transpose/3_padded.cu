// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 3_padded.cu -o k.so
// run: kernelwright evaluate reference.py 3_padded.cu --device emulated --set rows=40 --set columns=33
// A word of padding a row: tile[32][33]. Element (row, col) lies in bank (row + col) % 32, so a column touches 32 different
// banks and the read takes one turn. It costs 128 bytes a block, and rows no longer start at multiples of 16 bytes, which is
// why 16-byte accesses of the tile need the swizzle of the next rung instead.
// shows: LDS STS LDG.E STG.E
// language: cuda
// axes: R = in0[0], C = in0[1]
// launch: transpose grid(cdiv(C, 32), cdiv(R, 32)) block(32, 8)
#include "refuse.h"

__global__ __launch_bounds__(256) void transpose(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float tile[32][33];
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
