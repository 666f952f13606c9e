// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_vectors.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_vectors.cu --device emulated --set rows=3 --set classes=100
// Sixteen bytes a load, two loads under way; the test for a new largest is made once for eight values instead of for each, so
// that the inner loop is eight exponentials without a branch. 512 threads a row keep more loads under way.
// shows: LDG.E.128 MUFU.EX2 SHFL.BFLY
// language: cuda
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, in1 = int64, out0 = float32
// require: numel(in0) == R * C, numel(in1) == R
// require: C % 8 == 0
// launch: loss grid(R) block(512) args(in0, in1, out0, C)
#ifndef INFINITY  // NVRTC has no math.h
#define INFINITY __int_as_float(0x7f800000)
#endif

struct Partial {
  float top, sum;  // sum of exp(x - top) over what was seen
};

__device__ float shrink(float from, float to) { return from == to ? 1.0f : __expf(from - to); }  // also for -inf, -inf

__device__ Partial over_lanes(Partial p, int first) {
  for (int d = first; d > 0; d /= 2) {
    const Partial o = {__shfl_xor_sync(~0u, p.top, d), __shfl_xor_sync(~0u, p.sum, d)};
    const float top = fmaxf(p.top, o.top);
    p = {top, p.sum * shrink(p.top, top) + o.sum * shrink(o.top, top)};
  }
  return p;
}

extern "C" __global__ __launch_bounds__(512) void loss(const float* x, const long long* target, float* y, int cols) {
  __shared__ Partial of_warps[16];
  const float* in = x + (size_t)blockIdx.x * cols;
  Partial mine = {-INFINITY, 0};
  for (int c = 8 * threadIdx.x; c < cols; c += 8 * 512) {
    const float4 a = *reinterpret_cast<const float4*>(in + c), b = *reinterpret_cast<const float4*>(in + c + 4);
    const float v[8] = {a.x, a.y, a.z, a.w, b.x, b.y, b.z, b.w};
    float top = v[0];
#pragma unroll
    for (int j = 1; j < 8; ++j) top = fmaxf(top, v[j]);
    if (top > mine.top) mine = {top, mine.sum * shrink(mine.top, top)};
    const float base = mine.top > -INFINITY ? mine.top : 0.0f;  // nothing but -inf so far: exp gives 0
#pragma unroll
    for (int j = 0; j < 8; ++j) mine.sum += __expf(v[j] - base);
  }
  mine = over_lanes(mine, 16);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  const Partial all = over_lanes(of_warps[threadIdx.x % 16], 8);
  if (threadIdx.x == 0) y[blockIdx.x] = logf(all.sum) + all.top - in[target[blockIdx.x]];
}
