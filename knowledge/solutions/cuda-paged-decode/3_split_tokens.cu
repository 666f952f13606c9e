// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_split_tokens.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_split_tokens.cu --device emulated --set sequences=2 --set heads=2 --set pages=3
// The tokens of a head are cut into SPLIT parts, a block each, and a second kernel joins their partial softmaxes: few sequences
// with long histories fill the GPU too. A part writes its largest, its sum and 64 unfinished outputs, little beside the keys
// and values it reads. Parts that begin behind the sequence's end write a sum of 0.
// shows: LDG.E.128 SHFL.BFLY MUFU.EX2 LDS
// language: cuda
// tunable SPLIT = 4 in {1, 2, 4, 8, 16}
// axes: S = in0[0], H = in0[1], P = in3[1], B = in1[2]
// dtypes: in0 = float32, in1 = float32, in2 = float32, in3 = int32, in4 = int32, out0 = float32
// require: in3[0] == S, in4[0] == S, numel(in2) == numel(in1)
// require: in0[2] == 64, in1[3] == 64, in1[1] == H
// scratch: parts = float32[S * H * SPLIT * 66]
// launch: decode grid(S * H, SPLIT) block(256) args(in0, in1, in2, in3, in4, parts, H, P, B)
// launch: join grid(S * H) block(64) args(parts, out0)
#ifndef INFINITY  // NVRTC has no math.h
#define INFINITY __int_as_float(0x7f800000)
#endif
#ifndef SPLIT
#define SPLIT 4
#endif

__device__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

__device__ void blend(float4& out, float keep, float add, float4 v) {
  out = make_float4(out.x * keep + add * v.x, out.y * keep + add * v.y, out.z * keep + add * v.z, out.w * keep + add * v.w);
}

// parts: for each head and part its largest, its sum, 64 outputs
extern "C" __global__ __launch_bounds__(256) void decode(const float4* q, const float4* k, const float4* v, const int* table,
                                                         const int* lengths, float* parts, int heads, int pages, int page) {
  __shared__ float tops[32], sums[32], outs[32][64];
  const int sequence = blockIdx.x / heads, head = blockIdx.x % heads;
  const int quarter = threadIdx.x / 8, part = threadIdx.x % 8;  // 32 quarters; a lane holds float4s part and part + 8
  const float4 q0 = q[blockIdx.x * 16 + part], q1 = q[blockIdx.x * 16 + part + 8];
  const int length = lengths[sequence];
  const int share = (length + SPLIT - 1) / SPLIT, first = blockIdx.y * share, end = min(first + share, length);
  float top = -INFINITY, sum = 0;
  float4 out0 = make_float4(0, 0, 0, 0), out1 = out0;
  for (int start = first; start < end; start += 32) {
    const int t = start + quarter, at = min(t, end - 1);
    const size_t row = (((size_t)table[sequence * pages + at / page] * heads + head) * page + at % page) * 16 + part;
    const float4 k0 = k[row], k1 = k[row + 8], v0 = v[row], v1 = v[row + 8];
    float score = dot(q0, k0) + dot(q1, k1);
    for (int d = 4; d > 0; d /= 2) score += __shfl_xor_sync(~0u, score, d);
    score = t < end ? score * 0.125f : -INFINITY;
    const float larger = fmaxf(top, score), base = larger > -INFINITY ? larger : 0.0f;
    const float shrink = __expf(top - base), p = __expf(score - base);
    blend(out0, shrink, p, v0);
    blend(out1, shrink, p, v1);
    sum = sum * shrink + p;
    top = larger;
  }
  if (part == 0) tops[quarter] = top, sums[quarter] = sum;
  *reinterpret_cast<float4*>(&outs[quarter][4 * part]) = out0;
  *reinterpret_cast<float4*>(&outs[quarter][4 * part + 32]) = out1;
  __syncthreads();
  if (threadIdx.x < 64) {
    float largest = -INFINITY, all = 0, result = 0;
    for (int i = 0; i < 32; ++i) largest = fmaxf(largest, tops[i]);
    for (int i = 0; i < 32; ++i) {
      const float weight = tops[i] > -INFINITY ? __expf(tops[i] - largest) : 0.0f;
      all += sums[i] * weight;
      result += outs[i][threadIdx.x] * weight;
    }
    float* mine = parts + ((size_t)blockIdx.x * SPLIT + blockIdx.y) * 66;
    if (threadIdx.x == 0) mine[0] = largest, mine[1] = all;
    mine[2 + threadIdx.x] = result;
  }
}

extern "C" __global__ __launch_bounds__(64) void join(const float* parts, float* o) {
  const float* mine = parts + (size_t)blockIdx.x * SPLIT * 66;
  float largest = -INFINITY, all = 0, result = 0;
#pragma unroll
  for (int i = 0; i < SPLIT; ++i) largest = fmaxf(largest, mine[i * 66]);
#pragma unroll
  for (int i = 0; i < SPLIT; ++i) {
    const float weight = mine[i * 66] > -INFINITY ? __expf(mine[i * 66] - largest) : 0.0f;
    all += mine[i * 66 + 1] * weight;
    result += mine[i * 66 + 2 + threadIdx.x] * weight;
  }
  o[blockIdx.x * 64 + threadIdx.x] = result / all;
}
