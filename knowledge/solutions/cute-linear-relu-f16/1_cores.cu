// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 1_cores.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_cores.cu --device emulated --set rows=128 --set depth=64 --set features=128
// y = relu(x w^T + bias), float16 with float32 sums, any shape, on ordinary cores: 64 x 64 tiles, 16 deep, pass through shared
// memory as float32; each of 256 threads adds up 4 x 4 outputs. Bias and ReLU are applied to the sums: no second kernel.
// shows: LDS FFMA BAR.SYNC
// language: cute
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = float16, in1 = float16, in2 = float16, out0 = float16
// require: numel(in0) == M * K, in1[1] == K, numel(in2) == N
// require: M * K < 2147483392, N * K < 2147483392, M * N < 2147483392, M <= 4194240
// launch: linear grid(cdiv(N, 64), cdiv(M, 64)) block(256) args(in0, in1, in2, out0, M, N, K)
#include <cute/tensor.hpp>
using namespace cute;

using OneTile = Layout<Shape<_64, _16>, Stride<_1, Int<65>>>;  // along k a column; one word of padding
using Mma = decltype(make_tiled_mma(MMA_Atom<UniversalFMA<float>>{}, Layout<Shape<_16, _16, _1>, Stride<_16, _1, _0>>{}));

extern "C" __global__ __launch_bounds__(256) void linear(const half_t* x, const half_t* w, const half_t* bias, half_t* y,
                                                         int m, int n, int k) {
  __shared__ float words_a[cosize_v<OneTile>];
  __shared__ float words_b[cosize_v<OneTile>];
  Tensor sA = make_tensor(make_smem_ptr(words_a), OneTile{});
  Tensor sB = make_tensor(make_smem_ptr(words_b), OneTile{});
  Tensor X = make_tensor(make_gmem_ptr(x), make_shape(m, k), make_stride(k, _1{}));
  Tensor W = make_tensor(make_gmem_ptr(w), make_shape(n, k), make_stride(k, _1{}));
  Tensor Y = make_tensor(make_gmem_ptr(y), make_shape(m, n), make_stride(n, _1{}));
  const int row0 = blockIdx.y * 64, col0 = blockIdx.x * 64, d = threadIdx.x % 16;
  Mma mma;
  auto mine = mma.get_slice(threadIdx.x);
  Tensor at = mine.partition_C(make_identity_tensor(Shape<_64, _64>{}));
  Tensor sum = partition_fragment_C(mma, Shape<_64, _64>{});
  clear(sum);
  for (int k0 = 0; k0 < k; k0 += 16) {
    CUTE_UNROLL
    for (int i = threadIdx.x / 16; i < 64; i += 16) {
      sA(i, d) = row0 + i < m && k0 + d < k ? float(X(row0 + i, k0 + d)) : 0.0f;
      sB(i, d) = col0 + i < n && k0 + d < k ? float(W(col0 + i, k0 + d)) : 0.0f;
    }
    __syncthreads();
    gemm(mma, mine.partition_A(sA), mine.partition_B(sB), sum);
    __syncthreads();  // the tiles may be written again
  }
  CUTE_UNROLL
  for (int i = 0; i < size(sum); ++i) {
    const int row = row0 + get<0>(at(i)), col = col0 + get<1>(at(i));
    if (row < m && col < n) Y(row, col) = half_t(fmaxf(sum(i) + float(bias[col]), 0.0f));
  }
}
