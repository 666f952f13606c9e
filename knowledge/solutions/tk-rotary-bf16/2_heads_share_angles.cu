// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 2_heads_share_angles.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 2_heads_share_angles.cu --device none
// A warp keeps the cosines and sines of its 16 tokens in registers and walks over the heads of a batch: angles are read once
// instead of once a head, and the loads of the next head may be under way while this one is turned.
// shows: LDG.E STG.E FFMA
// language: thunderkittens
// architectures: sm_90a
// axes: B = in0[0], H = in0[1], T = in0[2]
// launch: rotary grid(T // 64, B) block(128)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

struct Globals {
  gl<bf16, -1, -1, -1, 64> x;
  gl<bf16, 1, 1, -1, 32> c, s;
  gl<bf16, -1, -1, -1, 64> y;
};
using Half = rt_fl<16, 32>;  // 16 tokens, one half of a head

__device__ void turn(Half& a, Half& b, const Half& c, const Half& s) {  // (a, b) becomes (a c - b s, b c + a s)
  Half old, part;
  warp::copy(old, a);
  warp::mul(a, a, c);
  warp::mul(part, b, s);
  warp::sub(a, a, part);
  warp::mul(b, b, c);
  warp::mul(part, old, s);
  warp::add(b, b, part);
}

__global__ __launch_bounds__(128) void rotary(const __grid_constant__ Globals g) {
  const int batch = blockIdx.y, at = blockIdx.x * 4 + warpid();
  Half a, b, c, s;
  warp::load(c, g.c, {at, 0});
  warp::load(s, g.s, {at, 0});
  for (int head = 0; head < g.x.depth(); ++head) {
    warp::load(a, g.x, {batch, head, at, 0});
    warp::load(b, g.x, {batch, head, at, 1});
    turn(a, b, c, s);
    warp::store(g.y, a, {batch, head, at, 0});
    warp::store(g.y, b, {batch, head, at, 1});
  }
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  for (int i = 0; i < 3; ++i) NEEDS(in[i].dtype == KW_BFLOAT16 && aligned(in[i].data, 16), "bfloat16, aligned to 16 bytes");
  NEEDS(in[0].ndim == 4 && in[0].shape[3] == 64, "x: [batch, heads, tokens, 64]");
  const size_t B = in[0].shape[0], H = in[0].shape[1], T = in[0].shape[2];
  NEEDS(in[1].ndim == 2 && in[1].shape[0] == T && in[1].shape[1] == 32, "cos: [tokens, 32]");
  NEEDS(in[2].ndim == 2 && in[2].shape[0] == T && in[2].shape[1] == 32, "sin: [tokens, 32]");
  NEEDS(T > 0 && T % 64 == 0 && T < INT32_MAX && B > 0 && H > 0 && B <= 65535 && H <= 65535, "64 tokens a block");
  NEEDS(aligned(out[0].data, 16), "16-byte rows");
  Globals g{{(bf16*)in[0].data, B, H, T, nullptr}, {(bf16*)in[1].data, nullptr, nullptr, T, nullptr},
            {(bf16*)in[2].data, nullptr, nullptr, T, nullptr}, {(bf16*)out[0].data, B, H, T, nullptr}};
  rotary<<<dim3(T / 64, B), 128, 0, (cudaStream_t)stream>>>(g);
  return launched();
}
