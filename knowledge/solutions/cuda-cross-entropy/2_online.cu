// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_online.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_online.cu --device emulated --set rows=3 --set classes=100
// One pass: each thread keeps the largest it has seen and the sum of exp against it; a larger one scales the sum down. The
// logits are read once. A row of 32,000 classes is 128 KB: its second pass would not hit the L1 and often not the L2.
// shows: LDG.E MUFU.EX2 SHFL.BFLY
// language: cuda
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, in1 = int64, out0 = float32
// require: numel(in0) == R * C, numel(in1) == R
// launch: loss grid(R) block(256) args(in0, in1, out0, C)
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

extern "C" __global__ __launch_bounds__(256) void loss(const float* x, const long long* target, float* y, int cols) {
  __shared__ Partial of_warps[8];
  const float* in = x + (size_t)blockIdx.x * cols;
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
  if (threadIdx.x == 0) y[blockIdx.x] = logf(all.sum) + all.top - in[target[blockIdx.x]];
}
