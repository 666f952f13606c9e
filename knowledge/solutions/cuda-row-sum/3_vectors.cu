// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 3_vectors.cu -o k.so
// run: kernelwright evaluate reference.py 3_vectors.cu --device emulated --set rows=3 --set columns=1000
// Sixteen bytes a load (LDG.E.128), two of them under way a thread. Rows up to 1024 columns get a warp each instead of a
// block: eight rows a block, no barrier and no shared memory at all. Columns must be a multiple of 4.
// shows: LDG.E.128 SHFL.BFLY
// language: cuda
// axes: R = in0[0], C = in0[1]
// require: C % 4 == 0
// launch: row_sumILi256E grid(R) block(256)
#include "refuse.h"

// Threads of a row: 32 or 256.
template <int Threads>
__global__ __launch_bounds__(256) void row_sum(const float* __restrict__ x, float* __restrict__ y, int rows, int cols) {
  const int row = blockIdx.x * (256 / Threads) + threadIdx.x / Threads, me = threadIdx.x % Threads;
  if (row >= rows) return;  // whole warps, and only where no barrier follows
  const float4* quads = reinterpret_cast<const float4*>(x + (size_t)row * cols);
  float part[2] = {};
  int q = me;
#pragma unroll 1
  for (; q + Threads < cols / 4; q += 2 * Threads) {
    const float4 a = quads[q], b = quads[q + Threads];
    part[0] += (a.x + a.y) + (a.z + a.w);
    part[1] += (b.x + b.y) + (b.z + b.w);
  }
  if (q < cols / 4) part[0] += (quads[q].x + quads[q].y) + (quads[q].z + quads[q].w);
  float sum = part[0] + part[1];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if constexpr (Threads > 32) {
    __shared__ float of_warps[8];
    if (me % 32 == 0) of_warps[me / 32] = sum;
    __syncthreads();
    sum = of_warps[me % 8];
    for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  }
  if (me == 0) y[row] = sum;
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  NEEDS(in[0].ndim == 2, "one matrix, summed along its last axis");
  const int64_t rows = in[0].shape[0], cols = in[0].shape[1];
  NEEDS(cols % 4 == 0, "16-byte loads: columns a multiple of 4; 2_shuffles.cu takes any");
  NEEDS(aligned(in[0].data, 16), "16-byte loads");
  NEEDS(rows > 0 && rows < INT32_MAX - 8 && cols > 0 && cols < INT32_MAX - 2048, "32-bit indices in a row");
  const float* x = (const float*)in[0].data;
  if (cols <= 1024)
    row_sum<32><<<(rows + 7) / 8, 256, 0, (cudaStream_t)stream>>>(x, (float*)out[0].data, rows, cols);
  else
    row_sum<256><<<rows, 256, 0, (cudaStream_t)stream>>>(x, (float*)out[0].data, rows, cols);
  return launched();
}
