// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 1_element.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_element.cu --device emulated --set batch=1 --set heads=2 --set tokens=5 --set half=8
// Rotary embedding of x[B, H, T, 2 D], float32, rotate-half form: a thread an output element. x is a tensor of modes (D, 2, T,
// heads), so that the partner of element (d, half) is (d, 1 - half). Each thread loads both, and cos and sin: twice as much as
// there is, and it divides an index three times.
// shows: LDG.E STG.E
// language: cute
// axes: BH = in0[0] * in0[1], T = in0[2], D = in1[1]
// dtypes: in0 = float32, in1 = float32, in2 = float32, out0 = float32
// require: in1[0] == T, numel(in2) == numel(in1)
// require: in0[3] == 2 * D, BH * T * 2 * D < 2147483392
// launch: rotary grid(cdiv(BH * T * 2 * D, 256)) block(256) args(in0, in1, in2, out0, BH, T, D)
#include <cute/tensor_impl.hpp>  // tensors and layouts, no atoms
using namespace cute;

extern "C" __global__ __launch_bounds__(256) void rotary(const float* x, const float* cosine, const float* sine, float* y,
                                                         int heads, int tokens, int half) {
  auto whole = make_layout(make_shape(half, _2{}, tokens, heads));  // the first mode is the fastest
  auto angles = make_layout(make_shape(half, tokens));
  Tensor in = make_tensor(make_gmem_ptr(x), whole);
  Tensor out = make_tensor(make_gmem_ptr(y), whole);
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i >= size(whole)) return;
  auto [d, side, t, head] = idx2crd(i, shape(whole));
  const float c = cosine[angles(d, t)], s = sine[angles(d, t)], partner = in(d, 1 - side, t, head);
  out(i) = in(i) * c + (side ? partner : -partner) * s;
}
