// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 1_outputs.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_outputs.cu --device emulated --set m=33 --set k=20 --set n=40
// c = a @ b, float32, any shape, on ordinary cores: a thread an output, a dot product straight from global memory. b is seen
// as CuTe's second operand, (N, K) with stride 1 along N: both operands end in k, whatever lies fastest in memory.
// shows: LDG.E FFMA STG.E
// language: cute
// axes: M = in0[0], K = in0[1], N = in1[1]
// dtypes: in0 = float32, in1 = float32, out0 = float32
// require: numel(in0) == M * K, in1[0] == K
// require: M * K < 2147483392, K * N < 2147483392, M * N < 2147483392, M <= 524280
// launch: sgemm grid(cdiv(N, 32), cdiv(M, 8)) block(32, 8) args(in0, in1, out0, M, N, K)
#include <cute/tensor_impl.hpp>  // tensors and layouts, no atoms
using namespace cute;

extern "C" __global__ __launch_bounds__(256) void sgemm(const float* a, const float* b, float* c, int m, int n, int k) {
  Tensor A = make_tensor(make_gmem_ptr(a), make_shape(m, k), make_stride(k, _1{}));
  Tensor B = make_tensor(make_gmem_ptr(b), make_shape(n, k), make_stride(_1{}, n));
  Tensor C = make_tensor(make_gmem_ptr(c), make_shape(m, n), make_stride(n, _1{}));
  const int row = blockIdx.y * 8 + threadIdx.y, col = blockIdx.x * 32 + threadIdx.x;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += A(row, i) * B(col, i);
  C(row, col) = sum;
}
