// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_heads_share_angles.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_heads_share_angles.cu --device emulated --set batch=1 --set heads=2 --set tokens=5 --set half=8
// Sixteen bytes an access: d is split into (4, quads). A block takes one token's angles for all heads: a thread keeps four
// cosines and four sines in registers while it walks over batch * heads. Angles are read once for 16 heads instead of for
// each, and the divisions of indices are gone.
// shows: LDG.E.128 FFMA STG.E.128
// language: cute
// axes: BH = in0[0] * in0[1], T = in0[2], D = in1[1]
// dtypes: in0 = float32, in1 = float32, in2 = float32, out0 = float32
// require: in1[0] == T, numel(in2) == numel(in1)
// require: in0[3] == 2 * D, D % 4 == 0, D <= 1024, BH <= 1048560, BH * T * 2 * D < 2147483392
// launch: rotary grid(T, cdiv(BH, 16)) block(D // 4, 4) args(in0, in1, in2, out0, BH, T, D)
#include <cute/tensor.hpp>
using namespace cute;

extern "C" __global__ __launch_bounds__(1024) void rotary(const float* __restrict__ x, const float* __restrict__ cosine,
                                                          const float* __restrict__ sine, float* __restrict__ y, int heads,
                                                          int tokens, int half) {
  const int quad = threadIdx.x, t = blockIdx.x;
  auto whole = make_layout(make_shape(_4{}, half / 4, _2{}, tokens, heads));
  auto angles = make_layout(make_shape(_4{}, half / 4, tokens));
  Tensor in = make_tensor(make_gmem_ptr(x), whole)(_, quad, _, t, _);  // (4 dimensions, 2 of a pair, heads)
  Tensor out = make_tensor(make_gmem_ptr(y), whole)(_, quad, _, t, _);
  Copy_Atom<UniversalCopy<uint128_t>, float> sixteen_bytes;
  Tensor c = make_tensor<float>(Shape<_4>{});
  Tensor s = make_tensor<float>(Shape<_4>{});
  copy(sixteen_bytes, make_tensor(make_gmem_ptr(cosine), angles)(_, quad, t), c);
  copy(sixteen_bytes, make_tensor(make_gmem_ptr(sine), angles)(_, quad, t), s);
  Tensor a = make_tensor<float>(Shape<_4>{});
  Tensor b = make_tensor<float>(Shape<_4>{});
  CUTE_UNROLL
  for (int j = 0; j < 4; ++j) {
    const int head = blockIdx.y * 16 + j * 4 + threadIdx.y;
    if (head >= heads) break;
    copy(sixteen_bytes, in(_, 0, head), a);
    copy(sixteen_bytes, in(_, 1, head), b);
    CUTE_UNROLL
    for (int i = 0; i < 4; ++i) {
      const float turned = a(i) * c(i) - b(i) * s(i);
      b(i) = b(i) * c(i) + a(i) * s(i);
      a(i) = turned;
    }
    copy(sixteen_bytes, a, out(_, 0, head));
    copy(sixteen_bytes, b, out(_, 1, head));
  }
}
