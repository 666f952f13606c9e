// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_block_per_head.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_block_per_head.cu --device emulated --set sequences=2 --set heads=2 --set pages=3
// Eight warps share a head: each takes every eighth token, and their partial softmaxes are joined through shared memory. A
// quarter of a warp takes a token: eight lanes with two float4s each need three shuffles instead of five, four tokens go at
// once, and each lane has four 16-byte loads under way.
// shows: LDG.E.128 SHFL.BFLY MUFU.EX2 LDS
// language: cuda
// axes: S = in0[0], H = in0[1], P = in3[1], B = in1[2]
// dtypes: in0 = float32, in1 = float32, in2 = float32, in3 = int32, in4 = int32, out0 = float32
// require: in3[0] == S, in4[0] == S, numel(in2) == numel(in1)
// require: in0[2] == 64, in1[3] == 64, in1[1] == H
// launch: decode grid(S * H) block(256) args(in0, in1, in2, in3, in4, out0, H, P, B)
#ifndef INFINITY  // NVRTC has no math.h
#define INFINITY __int_as_float(0x7f800000)
#endif

__device__ float dot(float4 a, float4 b) { return a.x * b.x + a.y * b.y + a.z * b.z + a.w * b.w; }

__device__ void blend(float4& out, float keep, float add, float4 v) {
  out = make_float4(out.x * keep + add * v.x, out.y * keep + add * v.y, out.z * keep + add * v.z, out.w * keep + add * v.w);
}

extern "C" __global__ __launch_bounds__(256) void decode(const float4* q, const float4* k, const float4* v, const int* table,
                                                         const int* lengths, float* o, int heads, int pages, int page) {
  __shared__ float tops[32], sums[32], outs[32][64];
  const int sequence = blockIdx.x / heads, head = blockIdx.x % heads;
  const int quarter = threadIdx.x / 8, part = threadIdx.x % 8;  // 32 quarters; a lane holds float4s part and part + 8
  const float4 q0 = q[blockIdx.x * 16 + part], q1 = q[blockIdx.x * 16 + part + 8];
  const int length = lengths[sequence];
  float top = -INFINITY, sum = 0;
  float4 out0 = make_float4(0, 0, 0, 0), out1 = out0;
  for (int start = 0; start < length; start += 32) {  // all lanes take part in the shuffles to the end
    const int t = start + quarter, at = min(t, length - 1);
    const size_t row = (((size_t)table[sequence * pages + at / page] * heads + head) * page + at % page) * 16 + part;
    const float4 k0 = k[row], k1 = k[row + 8], v0 = v[row], v1 = v[row + 8];
    float score = dot(q0, k0) + dot(q1, k1);
    for (int d = 4; d > 0; d /= 2) score += __shfl_xor_sync(~0u, score, d);
    score = t < length ? score * 0.125f : -INFINITY;
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
  if (threadIdx.x < 64) {  // a thread an output: joins 32 partial softmaxes
    float largest = -INFINITY, all = 0, result = 0;
    for (int i = 0; i < 32; ++i) largest = fmaxf(largest, tops[i]);
    for (int i = 0; i < 32; ++i) {
      const float weight = __expf(tops[i] - largest);
      all += sums[i] * weight;
      result += outs[i][threadIdx.x] * weight;
    }
    o[blockIdx.x * 64 + threadIdx.x] = result / all;
  }
}
