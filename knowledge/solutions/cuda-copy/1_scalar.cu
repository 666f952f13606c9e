// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 1_scalar.cu -o k.so
// run: kernelwright evaluate reference.py 1_scalar.cu --device emulated --set elements=1000
// y = x, float32, any length: a thread an element. Neighbouring threads touch neighbouring words, so every access is
// coalesced; but each thread has only four bytes under way, and index arithmetic is paid for every four bytes.
// shows: LDG.E STG.E
// language: cuda
// axes: N = numel(in0)
// launch: copy grid(cdiv(N, 256)) block(256)
#include "refuse.h"

__global__ __launch_bounds__(256) void copy(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) y[i] = x[i];
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  int64_t n = 1;
  for (int d = 0; d < in[0].ndim; ++d) n *= in[0].shape[d];
  NEEDS(n > 0, "at least one element");
  NEEDS(n < INT32_MAX - 256, "32-bit indices");
  copy<<<(n + 255) / 256, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, n);
  return launched();
}
