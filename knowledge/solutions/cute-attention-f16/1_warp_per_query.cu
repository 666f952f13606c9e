// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -I$KW -shared -Xcompiler -fPIC 1_warp_per_query.cu -o k.so
// run: kernelwright evaluate reference.py 1_warp_per_query.cu --device emulated --set heads=1 --set queries=64 --set keys=128
// softmax(q k^T / 8) v, a warp a query, on the ordinary cores: a lane has two of the 64 dimensions, a dot product is five
// shuffles, and the running largest and sum (online softmax) make one pass over keys and values enough. Any length.
// shows: SHFL.BFLY MUFU.EX2
// language: cute
// axes: S = in0[2], D = in0[3], T = in1[2]
// launch: attend grid(cdiv(S, 8), in0[0] * in0[1]) block(256)
#include <cute/tensor.hpp>
#include "refuse.h"
using namespace cute;

__global__ __launch_bounds__(256) void attend(const half_t* q, const half_t* k, const half_t* v, half_t* o, int S, int T,
                                              float scale) {
  const int query = blockIdx.x * 8 + threadIdx.x / 32, lane = threadIdx.x % 32;
  if (query >= S) return;  // a whole warp
  auto pairs = [](auto* p, int n) {  // (2 dimensions, 32 lanes, n rows)
    return make_tensor(make_gmem_ptr(p), make_layout(make_shape(_2{}, _32{}, n)));
  };
  const int64_t head = blockIdx.y;
  Tensor Q = pairs(q + head * S * 64, S)(_, lane, query);
  Tensor O = pairs(o + head * S * 64, S)(_, lane, query);
  Tensor K = pairs(k + head * T * 64, T)(_, lane, _);
  Tensor V = pairs(v + head * T * 64, T)(_, lane, _);
  const float q0 = float(Q(0)) * scale, q1 = float(Q(1)) * scale;
  float top = -INFINITY, sum = 0, o0 = 0, o1 = 0;
  for (int t = 0; t < T; ++t) {
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

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  const kw_tensor &q = in[0], &k = in[1], &v = in[2];
  NEEDS(q.dtype == KW_FLOAT16 && k.dtype == KW_FLOAT16 && v.dtype == KW_FLOAT16, "float16 q, k and v");
  NEEDS(q.ndim == 4 && k.ndim == 4 && v.ndim == 4, "[batch, heads, sequence, head dimension]");
  NEEDS(q.shape[3] == 64 && k.shape[3] == 64 && v.shape[3] == 64, "head dimension 64");
  const int64_t heads = q.shape[0] * q.shape[1], S = q.shape[2], T = k.shape[2];
  NEEDS(k.shape[0] * k.shape[1] == heads && v.shape[0] * v.shape[1] == heads && v.shape[2] == T, "as many k, v heads as q");
  NEEDS(S > 0 && T > 0, "something to attend to");
  NEEDS(S < INT32_MAX / 64 && T < INT32_MAX / 64 && heads > 0 && heads <= 65535, "32-bit indices and a grid of tiles");
  const float scale = 1.4426950408889634f / 8;  // log2(e) / sqrt(64)
  attend<<<dim3((S + 7) / 8, heads), 256, 0, (cudaStream_t)stream>>>(
      (const half_t*)q.data, (const half_t*)k.data, (const half_t*)v.data, (half_t*)out[0].data, S, T, scale);
  return launched();
}
