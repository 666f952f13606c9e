// kernel: transpose of each matrix of a batch, in half precision
// in: float16[3, 21, 34]
// out: float16[3, 34, 21]
// model: in0.transpose(0, 2, 1)
// axes: B = in0[0], R = in0[1], C = in0[2]
// launch: transpose_half grid(cdiv(C, 16), cdiv(R, 16), B) block(16, 16) args(in0, out0, R, C)
#include <cuda_fp16.h>
template <typename T, int S>
__device__ void transpose_tile(const T* in, T* out, int rows, int cols, T (*tile)[S + 2]) {
  int x = blockIdx.x * S + threadIdx.x, y = blockIdx.y * S + threadIdx.y;
  if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];
  __syncthreads();
  int ox = blockIdx.y * S + threadIdx.x, oy = blockIdx.x * S + threadIdx.y;
  if (ox < rows && oy < cols) out[oy * rows + ox] = tile[threadIdx.x][threadIdx.y];
}
extern "C" __global__ void transpose_half(const __half* in, __half* out, int rows, int cols) {
  __shared__ __half tile[16][18];
  size_t matrix = size_t(blockIdx.z) * rows * cols;
  transpose_tile<__half, 16>(in + matrix, out + matrix, rows, cols, tile);
}
