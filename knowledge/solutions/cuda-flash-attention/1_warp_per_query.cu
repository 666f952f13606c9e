// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_warp_per_query.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_warp_per_query.cu --device emulated --set heads=2 --set tokens=40
// Causal attention forward, float16, head dimension 64, any number of tokens: a warp a query. Two dimensions a lane; each key
// costs a dot product over the lanes (five shuffles) and one step of the online softmax. Scores are never in memory, but every
// key and value is read again for each query, and the tensor cores stand idle.
// shows: LDG.E SHFL.BFLY MUFU.EX2
// language: cuda
// axes: T = in0[2], BH = in0[0] * in0[1]
// dtypes: in0 = float16, in1 = float16, in2 = float16, out0 = float16
// require: numel(in1) == numel(in0), numel(in2) == numel(in0)
// require: in0[3] == 64, BH <= 65535
// launch: attend grid(cdiv(T, 8), BH) block(256) args(in0, in1, in2, out0, T)
#include <cuda_fp16.h>
#ifndef INFINITY  // NVRTC has no math.h
#define INFINITY __int_as_float(0x7f800000)
#endif

extern "C" __global__ __launch_bounds__(256) void attend(const __half2* q, const __half2* k, const __half2* v, __half2* o,
                                                         int tokens) {
  const int lane = threadIdx.x % 32, query = blockIdx.x * 8 + threadIdx.x / 32;
  if (query >= tokens) return;  // whole warps
  const size_t head = (size_t)blockIdx.y * tokens * 32;
  const float2 mine = __half22float2(q[head + (size_t)query * 32 + lane]);
  float top = -INFINITY, sum = 0;
  float2 out = make_float2(0, 0);
  for (int key = 0; key <= query; ++key) {
    const float2 other = __half22float2(k[head + (size_t)key * 32 + lane]);
    float score = mine.x * other.x + mine.y * other.y;
    for (int d = 16; d > 0; d /= 2) score += __shfl_xor_sync(~0u, score, d);
    score *= 0.125f;
    const float larger = fmaxf(top, score), shrink = __expf(top - larger), p = __expf(score - larger);
    const float2 value = __half22float2(v[head + (size_t)key * 32 + lane]);
    out = make_float2(out.x * shrink + p * value.x, out.y * shrink + p * value.y);
    sum = sum * shrink + p;
    top = larger;
  }
  o[head + (size_t)query * 32 + lane] = __floats2half2_rn(out.x / sum, out.y / sum);
}
