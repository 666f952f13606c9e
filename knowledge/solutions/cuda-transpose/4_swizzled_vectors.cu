// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 4_swizzled_vectors.cu -o k.so
// run: kernelwright evaluate reference.py 4_swizzled_vectors.cu --device emulated --set rows=64 --set columns=132
// Sixteen bytes a thread on both sides. Threads read float4s of a 64 x 64 tile, turn 4 x 4 blocks in their registers and
// store float4s, so global memory sees LDG.E.128 and STG.E.128. Padding would break the 16-byte alignment of tile rows; a
// swizzle does not: quad q of row r lies at quad q ^ (r / 4 % 16). Rows of one turned block share r / 4, blocks below each
// other differ in it: writes along a row and reads down a column of quads both spread over all banks.
// shows: LDG.E.128 STG.E.128 LDS.128 STS.128
// language: cuda
// axes: R = in0[0], C = in0[1]
// require: R % 4 == 0, C % 4 == 0
// launch: transpose grid(cdiv(C, 64), cdiv(R, 64)) block(256)
#include "refuse.h"

__global__ __launch_bounds__(256, 4) void transpose(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  __shared__ float4 tile[64 * 16];  // 64 rows of 16 quads
  auto at = [](int row, int quad) { return row * 16 + (quad ^ (row / 4 % 16)); };
  const int r0 = blockIdx.y * 64, c0 = blockIdx.x * 64;
#pragma unroll
  for (int i = threadIdx.x; i < 64 * 16; i += 256) {
    const int row = i / 16, quad = i % 16;
    if (r0 + row < rows && c0 + 4 * quad < cols)
      tile[at(row, quad)] = *reinterpret_cast<const float4*>(x + (size_t)(r0 + row) * cols + c0 + 4 * quad);
  }
  __syncthreads();
  const int rb = threadIdx.x % 16, cb = threadIdx.x / 16;  // one 4 x 4 block: rows 4 rb.., columns 4 cb..
  if (r0 + 4 * rb >= rows || c0 + 4 * cb >= cols) return;
  const float4 a = tile[at(4 * rb, cb)], b = tile[at(4 * rb + 1, cb)];
  const float4 c = tile[at(4 * rb + 2, cb)], d = tile[at(4 * rb + 3, cb)];
  float* to = y + (size_t)(c0 + 4 * cb) * rows + r0 + 4 * rb;
  *reinterpret_cast<float4*>(to) = make_float4(a.x, b.x, c.x, d.x);
  *reinterpret_cast<float4*>(to + rows) = make_float4(a.y, b.y, c.y, d.y);
  *reinterpret_cast<float4*>(to + 2 * (size_t)rows) = make_float4(a.z, b.z, c.z, d.z);
  *reinterpret_cast<float4*>(to + 3 * (size_t)rows) = make_float4(a.w, b.w, c.w, d.w);
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(rows % 4 == 0 && cols % 4 == 0, "16-byte accesses on both sides: rows and columns multiples of 4");
  NEEDS(aligned(in[0].data, 16) && aligned(out[0].data, 16), "16-byte accesses");
  NEEDS(rows > 0 && cols > 0 && cols < INT32_MAX - 64 && (rows + 63) / 64 <= 65535, "at most 4194240 rows: the grid's y");
  transpose<<<dim3((cols + 63) / 64, (rows + 63) / 64), 256, 0, (cudaStream_t)stream>>>(
      (const float*)in[0].data, (float*)out[0].data, rows, cols);
  return launched();
}
