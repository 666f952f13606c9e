// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 1_matrix_view.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_matrix_view.cu --device emulated --set batch=1 --set channels=3 --set filters=5 --set height=9 --set width=11
// 3x3 convolution, NCHW float16, no padding: to CuTe it is a matrix product. x is seen as a matrix of pixels by depth, ((cols,
// rows, images), (3, 3, channels)), a layout in which windows overlap: im2col without a copy. A thread an output, any shape.
// shows: LDG.E.U16 FFMA STG.E.U16
// language: cute
// axes: N = in0[0], C = in0[1], H = in0[2], W = in0[3], F = in1[0], P = (H - 2) * (W - 2) * N
// dtypes: in0 = float16, in1 = float16, out0 = float16
// require: in1[1] == C, numel(out0) == P * F
// require: in1[2] == 3, in1[3] == 3, N * C * H * W < 2147483392, F * C * 9 < 2147483392, P * F < 2147483392
// require: H > 2, W > 2, F <= 65535
// launch: conv grid(cdiv(P, 256), F) block(256) args(in0, in1, out0, N, C, H, W, F)
#include <cute/tensor_impl.hpp>  // tensors and layouts, no atoms
using namespace cute;

extern "C" __global__ __launch_bounds__(256) void conv(const half_t* x, const half_t* w, half_t* y, int images, int channels,
                                                       int height, int width, int filters) {
  const int rows = height - 2, cols = width - 2, plane = height * width, pixels = cols * rows * images, depth = 9 * channels;
  Tensor X = make_tensor(make_gmem_ptr(x), make_shape(make_shape(cols, rows, images), make_shape(_3{}, _3{}, channels)),
                         make_stride(make_stride(_1{}, width, channels * plane), make_stride(_1{}, width, plane)));
  Tensor W = make_tensor(make_gmem_ptr(w), make_shape(filters, depth), make_stride(depth, _1{}));
  Tensor Y = make_tensor(make_gmem_ptr(y), make_shape(make_shape(cols, rows, images), filters),
                         make_stride(make_stride(_1{}, cols, filters * rows * cols), rows * cols));
  const int pixel = blockIdx.x * 256 + threadIdx.x, filter = blockIdx.y;
  if (pixel >= pixels) return;
  const auto at = idx2crd(pixel, shape<0>(X));
  float sum = 0;
  for (int c = 0; c < channels; ++c)
    CUTE_UNROLL
    for (int tap = 0; tap < 9; ++tap)
      sum += float(X(at, make_coord(tap % 3, tap / 3, c))) * float(W(filter, 9 * c + tap));
  Y(at, filter) = half_t(sum);
}
