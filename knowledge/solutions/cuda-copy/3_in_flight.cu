// nvcc -std=c++17 -O3 -arch=sm_80 -I$KW -shared -Xcompiler -fPIC 3_in_flight.cu -o k.so
// run: kernelwright evaluate reference.py 3_in_flight.cu --device emulated --set elements=40000
// Four 16-byte loads a thread are issued before the first store waits for one of them: four times the bytes under way, so
// fewer warps hide the latency of memory. What is copied is used once: loads and stores are marked evict-first (.cs), so
// that they do not push out of the L2 what other kernels left there. A block's four loads lie 4 KB apart, each coalesced.
// shows: LDG.E.EF.128 STG.E.EF.128
// language: cuda
// axes: N = numel(in0)
// launch: copy grid(cdiv(N, 4096)) block(256)
#include "refuse.h"

constexpr int LOADS = 4, TILE = 4 * 256 * LOADS;  // words a block

__global__ __launch_bounds__(256) void copy(const float* __restrict__ x, float* __restrict__ y, int n) {
  const int start = blockIdx.x * TILE, me = 4 * threadIdx.x;
  if (start + TILE <= n) {  // all blocks but the last: no test a load
    float4 held[LOADS];
#pragma unroll
    for (int j = 0; j < LOADS; ++j) held[j] = __ldcs(reinterpret_cast<const float4*>(x + start + j * 1024 + me));
#pragma unroll
    for (int j = 0; j < LOADS; ++j) __stcs(reinterpret_cast<float4*>(y + start + j * 1024 + me), held[j]);
  } else
#pragma unroll 1  // a rare path: no room for it in the instruction cache
    for (int i = start + threadIdx.x; i < n; i += 256) y[i] = x[i];
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  NEEDS(in[0].dtype == KW_FLOAT32, "float32 only");
  int64_t n = 1;
  for (int d = 0; d < in[0].ndim; ++d) n *= in[0].shape[d];
  NEEDS(n > 0 && n < INT32_MAX - TILE, "1 to 2^31 - 4097 elements: 32-bit indices");
  NEEDS(aligned(in[0].data, 16) && aligned(out[0].data, 16), "16-byte accesses; 1_scalar.cu takes any address");
  copy<<<(n + TILE - 1) / TILE, 256, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, n);
  return launched();
}
