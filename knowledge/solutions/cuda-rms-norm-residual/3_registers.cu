// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_registers.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_registers.cu --device emulated --set rows=3 --set columns=100
// The sum of a row stays in the registers of its block: QUADS float4s a thread. Two reads and one write of the matrix, which
// is the least there is; 16-byte accesses; one barrier. A tunable says how long a row may be: 1024 columns a quad.
// shows: LDG.E.128 STG.E.128 MUFU.RSQ SHFL.BFLY
// language: cuda
// tunable QUADS = 2 in {1, 2, 4, 8}
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, in1 = float32, param0 = float32, out0 = float32
// require: numel(in0) == R * C, numel(in1) == R * C, numel(param0) == C
// require: C % 4 == 0, C <= 1024 * QUADS
// launch: rms_norm grid(R) block(256) args(in0, in1, param0, out0, C)
#ifndef QUADS
#define QUADS 2
#endif

extern "C" __global__ __launch_bounds__(256) void rms_norm(const float4* x, const float4* r, const float4* weight, float4* y,
                                                       int cols) {
  __shared__ float of_warps[8];
  const size_t start = (size_t)blockIdx.x * (cols / 4);
  float4 held[QUADS];
  float sum = 0;
#pragma unroll
  for (int q = 0; q < QUADS; ++q) {
    const int at = q * 256 + threadIdx.x;
    held[q] = make_float4(0, 0, 0, 0);
    if (at < cols / 4) {
      const float4 a = x[start + at], b = r[start + at];
      held[q] = make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
    }
    sum += held[q].x * held[q].x + held[q].y * held[q].y + held[q].z * held[q].z + held[q].w * held[q].w;
  }
  for (int d = 16; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) of_warps[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = of_warps[threadIdx.x % 8];
  for (int d = 4; d > 0; d /= 2) sum += __shfl_xor_sync(~0u, sum, d);
  const float scale = rsqrtf(sum / cols + 1e-6f);
#pragma unroll
  for (int q = 0; q < QUADS; ++q) {
    const int at = q * 256 + threadIdx.x;
    if (at >= cols / 4) continue;
    const float4 h = held[q], w = weight[at];
    y[start + at] = make_float4(h.x * scale * w.x, h.y * scale * w.y, h.z * scale * w.z, h.w * scale * w.w);
  }
}
