// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_online.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_online.cu --device emulated --set rows=3 --set columns=100
// One pass gathers largest and sum together: whenever the largest grows, the sum so far is scaled down to it. Two reads
// instead of three. A thread keeps its own pair; pairs are joined by shuffles and then over eight words of shared memory.
// shows: LDG.E STG.E MUFU.EX2 SHFL.BFLY
// language: cuda
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, out0 = float32
// require: numel(in0) == R * C
// launch: softmax grid(R) block(256) args(in0, out0, C)
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

extern "C" __global__ __launch_bounds__(256) void softmax(const float* __restrict__ x, float* __restrict__ y, int cols) {
  __shared__ Partial of_warps[8];
  const float* in = x + (size_t)blockIdx.x * cols;
  float* out = y + (size_t)blockIdx.x * cols;
  Partial mine = {-INFINITY, 0};
  for (int c = threadIdx.x; c < cols; c += 256) {
    const float v = in[c];
    if (v > mine.top) mine = {v, mine.sum * shrink(mine.top, v)};
    if (v > -INFINITY) mine.sum += __expf(v - mine.top);
  }
  mine = over_lanes(mine, 16);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = mine;
  __syncthreads();
  const Partial all = over_lanes(of_warps[threadIdx.x % 8], 4);
  const float factor = 1.0f / all.sum;
  for (int c = threadIdx.x; c < cols; c += 256) out[c] = __expf(in[c] - all.top) * factor;
}
