// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 1_warp_per_query.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_warp_per_query.cu --device emulated --set heads=1 --set tokens=128
// Causal attention forward, softmax(q k^T / 8 with keys up to the query) v, float16, head dimension 64: a warp a query on ordinary
// cores, any length. A lane has two dimensions, a dot product is five shuffles, and a running largest and sum (online softmax)
// make one pass over keys and values enough; no score is written.
// shows: FFMA SHFL.BFLY MUFU.EX2
// language: cute
// axes: T = in0[2], BH = in0[0] * in0[1]
// dtypes: in0 = float16, in1 = float16, in2 = float16, out0 = float16
// require: numel(in1) == numel(in0), numel(in2) == numel(in0)
// require: in0[3] == 64, in1[2] == T, BH <= 65535, BH * T < 33554432
// launch: attend grid(cdiv(T, 8), BH) block(256) args(in0, in1, in2, out0, T)
#include <cute/tensor_impl.hpp>  // tensors and layouts, no atoms
using namespace cute;

extern "C" __global__ __launch_bounds__(256) void attend(const half_t* q, const half_t* k, const half_t* v, half_t* o,
                                                         int tokens) {
  constexpr float SCALE = 0.125f * 1.4426950408889634f;  // 1 / sqrt(64), and exp2 instead of exp
  const int query = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32, head = blockIdx.y;
  if (query >= tokens) return;  // a whole warp
  auto whole = make_layout(make_shape(_2{}, _32{}, tokens, int(gridDim.y)));  // (2 dimensions, 32 lanes, tokens, heads)
  Tensor Q = make_tensor(make_gmem_ptr(q), whole)(_, lane, query, head);
  Tensor O = make_tensor(make_gmem_ptr(o), whole)(_, lane, query, head);
  Tensor K = make_tensor(make_gmem_ptr(k), whole)(_, lane, _, head);
  Tensor V = make_tensor(make_gmem_ptr(v), whole)(_, lane, _, head);
  const float q0 = float(Q(0)) * SCALE, q1 = float(Q(1)) * SCALE;
  float top = -INFINITY, sum = 0, o0 = 0, o1 = 0;
  for (int t = 0; t <= query; ++t) {
    float score = q0 * float(K(0, t)) + q1 * float(K(1, t));
    for (int d = 16; d > 0; d /= 2) score += __shfl_xor_sync(~0u, score, d);
    const float best = fmaxf(top, score), shrink = exp2f(top - best), weight = exp2f(score - best);
    top = best;
    sum = sum * shrink + weight;
    o0 = o0 * shrink + weight * float(V(0, t));
    o1 = o1 * shrink + weight * float(V(1, t));
  }
  O(0) = half_t(o0 / sum);
  O(1) = half_t(o1 / sum);
}
