// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 2_implicit_gemm.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_implicit_gemm.cu --device emulated --set batch=1 --set channels=3 --set filters=5 --set height=9 --set width=11
// An implicit matrix product on ordinary cores: 64 pixels x 64 filters a block; a tile of the matrix view, 16 deep, is gathered
// into shared memory, so that each element is looked up once for 64 filters; 4 x 4 outputs a thread by a tiled MMA.
// shows: LDS FFMA BAR.SYNC
// language: cute
// axes: N = in0[0], C = in0[1], H = in0[2], W = in0[3], F = in1[0], P = (H - 2) * (W - 2) * N
// dtypes: in0 = float16, in1 = float16, out0 = float16
// require: in1[1] == C, numel(out0) == P * F
// require: in1[2] == 3, in1[3] == 3, N * C * H * W < 2147483392, F * C * 9 < 2147483392, P * F < 2147483392
// require: H > 2, W > 2, F <= 65535
// launch: conv grid(cdiv(P, 64), cdiv(F, 64)) block(256) args(in0, in1, out0, N, C, H, W, F)
#include <cute/tensor.hpp>
using namespace cute;

using OneTile = Layout<Shape<_64, _16>, Stride<_1, Int<65>>>;  // along k a column; one word of padding
using Mma = decltype(make_tiled_mma(MMA_Atom<UniversalFMA<float>>{}, Layout<Shape<_16, _16, _1>>{}));

extern "C" __global__ __launch_bounds__(256) void conv(const half_t* x, const half_t* w, half_t* y, int images, int channels,
                                                       int height, int width, int filters) {
  __shared__ float words_a[cosize_v<OneTile>];
  __shared__ float words_b[cosize_v<OneTile>];
  Tensor sA = make_tensor(make_smem_ptr(words_a), OneTile{});
  Tensor sB = make_tensor(make_smem_ptr(words_b), OneTile{});
  const int rows = height - 2, cols = width - 2, plane = height * width, pixels = cols * rows * images, depth = 9 * channels;
  Tensor X = make_tensor(make_gmem_ptr(x), make_shape(make_shape(cols, rows, images), make_shape(_3{}, _3{}, channels)),
                         make_stride(make_stride(_1{}, width, channels * plane), make_stride(_1{}, width, plane)));
  Tensor W = make_tensor(make_gmem_ptr(w), make_shape(filters, depth), make_stride(depth, _1{}));
  Tensor Y = make_tensor(make_gmem_ptr(y), make_shape(make_shape(cols, rows, images), filters),
                         make_stride(make_stride(_1{}, cols, filters * rows * cols), rows * cols));
  const int pixel0 = blockIdx.x * 64, filter0 = blockIdx.y * 64, me = threadIdx.x;
  const auto here = idx2crd(min(pixel0 + me % 64, pixels - 1), shape<0>(X));  // the pixel that this thread gathers
  Mma mma;
  auto mine = mma.get_slice(me);
  Tensor at = mine.partition_C(make_identity_tensor(Shape<_64, _64>{}));
  Tensor sum = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(sum);
  for (int k0 = 0; k0 < depth; k0 += 16) {
    CUTE_UNROLL
    for (int j = 0; j < 4; ++j) {
      const int d = me / 64 + 4 * j, f = me / 16 + 16 * j, e = me % 16;
      sA(me % 64, d) = k0 + d < depth ? float(X(here, k0 + d)) : 0.0f;
      sB(f, e) = filter0 + f < filters && k0 + e < depth ? float(W(filter0 + f, k0 + e)) : 0.0f;
    }
    __syncthreads();
    gemm(mma, mine.partition_A(sA), mine.partition_B(sB), sum);
    __syncthreads();  // the tiles may be written again
  }
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i) {
    const int pixel = pixel0 + get<0>(at(i)), filter = filter0 + get<1>(at(i));
    if (pixel < pixels && filter < filters) Y(pixel, filter) = half_t(sum(i));
  }
}
