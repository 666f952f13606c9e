// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_warp_per_head.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_warp_per_head.cu --device emulated --set sequences=2 --set heads=2 --set pages=3
// One new token a sequence attends to its keys and values, which lie in pages anywhere in a pool; float32, head dimension 64.
// A warp a head of a sequence walks over all tokens, each a dot product by shuffles and a step of the online softmax. With few
// sequences few warps run, each through thousands of tokens: latency limits, most multiprocessors are idle.
// shows: LDG.E.64 SHFL.BFLY MUFU.EX2
// language: cuda
// axes: S = in0[0], H = in0[1], P = in3[1], B = in1[2]
// dtypes: in0 = float32, in1 = float32, in2 = float32, in3 = int32, in4 = int32, out0 = float32
// require: in3[0] == S, in4[0] == S, numel(in2) == numel(in1)
// require: in0[2] == 64, in1[3] == 64, in1[1] == H
// launch: decode grid(cdiv(S * H, 4)) block(128) args(in0, in1, in2, in3, in4, out0, S * H, H, P, B)
#ifndef INFINITY  // NVRTC has no math.h
#define INFINITY __int_as_float(0x7f800000)
#endif

extern "C" __global__ __launch_bounds__(128) void decode(const float2* q, const float2* k, const float2* v, const int* table,
                                                         const int* lengths, float2* o, int all, int heads, int pages,
                                                         int page) {
  const int lane = threadIdx.x % 32, me = blockIdx.x * 4 + threadIdx.x / 32;
  if (me >= all) return;  // whole warps
  const int sequence = me / heads, head = me % heads;
  const float2 query = q[me * 32 + lane];
  float top = -INFINITY, sum = 0;
  float2 out = make_float2(0, 0);
  for (int t = 0; t < lengths[sequence]; ++t) {
    const size_t row = ((size_t)table[sequence * pages + t / page] * heads + head) * page + t % page;
    const float2 key = k[row * 32 + lane], value = v[row * 32 + lane];
    float score = query.x * key.x + query.y * key.y;
    for (int d = 16; d > 0; d /= 2) score += __shfl_xor_sync(~0u, score, d);
    score *= 0.125f;
    const float larger = fmaxf(top, score), shrink = __expf(top - larger), p = __expf(score - larger);
    out = make_float2(out.x * shrink + p * value.x, out.y * shrink + p * value.y);
    sum = sum * shrink + p;
    top = larger;
  }
  o[me * 32 + lane] = make_float2(out.x / sum, out.y / sum);
}
