// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 1_windows.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_windows.cu --device emulated --set height=20 --set width=70
// 3x3 box blur of a float32 image, valid pixels: the image is seen as a tensor of windows, ((3, 3), W, H) with strides ((1, row),
// 1, row): no copy, only a layout in which neighbours overlap. A thread adds the nine values of its window.
// shows: LDG.E FADD STG.E
// language: cute
// axes: H = out0[0], W = out0[1]
// dtypes: in0 = float32, out0 = float32
// require: in0[0] == H + 2, in0[1] == W + 2
// require: (H + 2) * (W + 2) < 2147483392, H <= 524280
// launch: blur grid(cdiv(W, 32), cdiv(H, 8)) block(32, 8) args(in0, out0, H, W)
#include <cute/tensor_impl.hpp>  // tensors and layouts, no atoms
using namespace cute;

extern "C" __global__ __launch_bounds__(256) void blur(const float* x, float* y, int h, int w) {
  const int row = w + 2, i = blockIdx.y * 8 + threadIdx.y, j = blockIdx.x * 32 + threadIdx.x;
  if (i >= h || j >= w) return;
  Tensor windows = make_tensor(make_gmem_ptr(x), make_shape(Shape<_3, _3>{}, w, h),
                               make_stride(make_stride(_1{}, row), _1{}, row));
  Tensor mine = windows(_, j, i);
  float sum = 0;
  CUTE_UNROLL
  for (int tap = 0; tap < size(mine); ++tap) sum += mine(tap);
  make_tensor(make_gmem_ptr(y), make_shape(w, h))(j, i) = sum * (1.0f / 9);
}
