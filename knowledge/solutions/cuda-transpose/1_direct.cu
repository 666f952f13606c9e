// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 1_direct.cu -o k.so
// run: kernelwright evaluate reference.py 1_direct.cu --device emulated --set rows=40 --set columns=33
// y = x.T, float32, any shape: a thread an element. Reads are coalesced; the 32 stores of a warp lie `rows` words apart,
// so each moves a 32-byte sector for 4 bytes of it: an eighth of the bandwidth of stores is used.
// shows: LDG.E STG.E
// language: cuda
// axes: R = in0[0], C = in0[1]
// launch: transpose grid(cdiv(C, 32), cdiv(R, 8)) block(32, 8)
#include "refuse.h"

__global__ __launch_bounds__(256) void transpose(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int c = blockIdx.x * 32 + threadIdx.x, r = blockIdx.y * 8 + threadIdx.y;
  if (r < rows && c < cols) y[(size_t)c * rows + r] = x[(size_t)r * cols + c];
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows > 0 && cols > 0 && cols < INT32_MAX - 32 && (rows + 7) / 8 <= 65535, "at most 524280 rows: the grid's y");
  transpose<<<dim3((cols + 31) / 32, (rows + 7) / 8), dim3(32, 8), 0, (cudaStream_t)stream>>>(
      (const float*)in[0].data, (float*)out[0].data, rows, cols);
  return launched();
}
