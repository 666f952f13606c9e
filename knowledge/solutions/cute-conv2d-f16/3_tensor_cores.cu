// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 3_tensor_cores.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_tensor_cores.cu --device emulated --set batch=1 --set channels=3 --set filters=5 --set height=9 --set width=11
// The product on tensor cores. Pixels are gathered as they lie, a warp 32 neighbours, into a tile with pixels fastest; the
// transposing ldmatrix turns it into the operand, so that neither the gathering nor the reading has bank conflicts (both tiles
// are swizzled). The next tile is looked up into registers while this one is multiplied: divisions and latency hide behind it.
// shows: HMMA.16816.F32 LDSM.16.MT88 LDSM.16.M88 BAR.SYNC
// language: cute
// axes: N = in0[0], C = in0[1], H = in0[2], W = in0[3], F = in1[0], P = (H - 2) * (W - 2) * N
// dtypes: in0 = float16, in1 = float16, out0 = float16
// require: in1[1] == C, numel(out0) == P * F
// require: in1[2] == 3, in1[3] == 3, N * C * H * W < 2147483392, F * C * 9 < 2147483392, P * F < 2147483392
// require: H > 2, W > 2, F <= 65535
// launch: conv grid(cdiv(P, 64), cdiv(F, 64)) block(128) args(in0, in1, out0, N, C, H, W, F)
#include <cute/tensor.hpp>
using namespace cute;

using TileA = decltype(tile_to_shape(composition(Swizzle<3, 3, 3>{}, Layout<Shape<_64, _8>, Stride<_1, _64>>{}),
                                     Shape<_64, _32>{}));  // pixels fastest
using TileB = decltype(tile_to_shape(composition(Swizzle<2, 3, 3>{}, Layout<Shape<_8, _32>, Stride<_32, _1>>{}),
                                     Shape<_64, _32>{}));  // depth fastest
using Mma = decltype(make_tiled_mma(MMA_Atom<SM80_16x8x16_F32F16F16F32_TN>{}, Layout<Shape<_2, _2>>{},
                                    cute::Tile<_32, _32, _16>{}));

extern "C" __global__ __launch_bounds__(128) void conv(const half_t* x, const half_t* w, half_t* y, int images, int channels,
                                                       int height, int width, int filters) {
  __shared__ alignas(128) half_t words_a[cosize_v<TileA>];
  __shared__ alignas(128) half_t words_b[cosize_v<TileB>];
  Tensor sA = make_tensor(make_smem_ptr(words_a), TileA{});
  Tensor sB = make_tensor(make_smem_ptr(words_b), TileB{});
  const int rows = height - 2, cols = width - 2, plane = height * width, pixels = cols * rows * images, depth = 9 * channels;
  Tensor X = make_tensor(make_gmem_ptr(x), make_shape(make_shape(cols, rows, images), make_shape(_3{}, _3{}, channels)),
                         make_stride(make_stride(_1{}, width, channels * plane), make_stride(_1{}, width, plane)));
  Tensor W = make_tensor(make_gmem_ptr(w), make_shape(filters, depth), make_stride(depth, _1{}));
  Tensor Y = make_tensor(make_gmem_ptr(y), make_shape(make_shape(cols, rows, images), filters),
                         make_stride(make_stride(_1{}, cols, filters * rows * cols), rows * cols));
  const int pixel0 = blockIdx.x * 64, filter0 = blockIdx.y * 64, me = threadIdx.x;
  const auto here = idx2crd(min(pixel0 + me % 64, pixels - 1), shape<0>(X));  // the pixel that this thread gathers
  Tensor next_a = make_tensor<half_t>(Shape<_16>{});
  Tensor next_b = make_tensor<half_t>(Shape<_16>{});
  auto look_up = [&](int k0) {
    CUTE_UNROLL
    for (int j = 0; j < 16; ++j) {
      const int d = k0 + me / 64 + 2 * j, e = k0 + me % 32, f = filter0 + me / 32 + 4 * j;
      next_a(j) = d < depth ? X(here, d) : half_t(0.0f);
      next_b(j) = f < filters && e < depth ? W(f, e) : half_t(0.0f);
    }
  };
  Mma mma;
  auto mine = mma.get_slice(me);
  auto ldA = make_tiled_copy_A(Copy_Atom<SM75_U16x8_LDSM_T, half_t>{}, mma);
  auto ldB = make_tiled_copy_B(Copy_Atom<SM75_U32x4_LDSM_N, half_t>{}, mma);
  Tensor rA = mine.partition_fragment_A(sA);
  Tensor rB = mine.partition_fragment_B(sB);
  Tensor at = mine.partition_C(make_identity_tensor(Shape<_64, _64>{}));
  Tensor sum = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(sum);
  look_up(0);
  for (int k0 = 0; k0 < depth; k0 += 32) {
    CUTE_UNROLL
    for (int j = 0; j < 16; ++j) {
      sA(me % 64, me / 64 + 2 * j) = next_a(j);
      sB(me / 32 + 4 * j, me % 32) = next_b(j);
    }
    __syncthreads();
    look_up(k0 + 32);
    copy(ldA, ldA.get_slice(me).partition_S(sA), ldA.get_slice(me).retile_D(rA));
    copy(ldB, ldB.get_slice(me).partition_S(sB), ldB.get_slice(me).retile_D(rB));
    gemm(mma, rA, rB, sum);
    __syncthreads();  // the tiles may be written again
  }
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i) {
    const int pixel = pixel0 + get<0>(at(i)), filter = filter0 + get<1>(at(i));
    if (pixel < pixels && filter < filters) Y(pixel, filter) = half_t(sum(i));
  }
}
