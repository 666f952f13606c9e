// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 2_pair.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_pair.cu --device emulated --set batch=1 --set heads=2 --set tokens=5 --set half=8
// A thread a pair: the mode of size 2 is left whole, in(d, _, t, head), and the index runs over the others. What was loaded
// twice is loaded once; two divisions for two outputs.
// shows: LDG.E FFMA STG.E
// language: cute
// axes: BH = in0[0] * in0[1], T = in0[2], D = in1[1]
// dtypes: in0 = float32, in1 = float32, in2 = float32, out0 = float32
// require: in1[0] == T, numel(in2) == numel(in1)
// require: in0[3] == 2 * D, BH * T * 2 * D < 2147483392
// launch: rotary grid(cdiv(BH * T * D, 256)) block(256) args(in0, in1, in2, out0, BH, T, D)
#include <cute/tensor_impl.hpp>  // tensors and layouts, no atoms
using namespace cute;

extern "C" __global__ __launch_bounds__(256) void rotary(const float* x, const float* cosine, const float* sine, float* y,
                                                         int heads, int tokens, int half) {
  auto whole = make_layout(make_shape(half, _2{}, tokens, heads));  // the first mode is the fastest
  auto angles = make_layout(make_shape(half, tokens));
  auto pairs = make_shape(half, tokens, heads);
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= size(pairs)) return;
  auto [d, t, head] = idx2crd(i, pairs);
  Tensor in = make_tensor(make_gmem_ptr(x), whole)(d, _, t, head);
  Tensor out = make_tensor(make_gmem_ptr(y), whole)(d, _, t, head);
  const float c = cosine[angles(d, t)], s = sine[angles(d, t)], a = in(0), b = in(1);
  out(0) = a * c - b * s;
  out(1) = b * c + a * s;
}
