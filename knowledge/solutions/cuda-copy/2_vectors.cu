// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 2_vectors.cu -o k.so
// run: kernelwright evaluate reference.py 2_vectors.cu --device emulated --set elements=1000
// Sixteen bytes a thread (LDG.E.128, STG.E.128): a quarter of the instructions for the same bytes. The last, incomplete
// quad is copied word by word by the thread whose turn it would be. Both addresses must be multiples of 16.
// shows: LDG.E.128 STG.E.128
// language: cuda
// axes: N = numel(in0)
// launch: copy grid(cdiv(N, 1024)) block(256)
#include "refuse.h"

__global__ __launch_bounds__(256) void copy(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = 4 * (blockIdx.x * 256 + threadIdx.x);
  if (i + 4 <= n)
    *reinterpret_cast<float4*>(y + i) = *reinterpret_cast<const float4*>(x + i);
  else
#pragma unroll 1  // a rare path: no room for it in the instruction cache
    for (int j = i; j < n; ++j) y[j] = x[j];
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  int64_t n = 1;
  for (int d = 0; d < in[0].ndim; ++d) n *= in[0].shape[d];
  NEEDS(n > 0 && n < INT32_MAX - 1024, "1 to 2^31 - 1025 elements: 32-bit indices");
  NEEDS(aligned(in[0].data, 16) && aligned(out[0].data, 16), "16-byte accesses; 1_scalar.cu takes any address");
  copy<<<(n + 1023) / 1024, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, n);
  return launched();
}
