// nvcc -std=c++17 -O3 -arch=sm_80 --expt-relaxed-constexpr -I$CUTLASS/include -cubin 1_tree.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_tree.cu --device emulated --set rows=3 --set columns=1000
// y[r] = sum of row r, float32, any shape. A block a row: each thread adds every 256th element; then a tree in shared memory,
// eight rounds with a barrier each, in the last five of which one warp works and seven wait.
// shows: LDG.E LDS STS BAR.SYNC
// language: cute
// axes: R = in0[0], C = in0[1]
// dtypes: in0 = float32, out0 = float32
// require: numel(in0) == R * C
// require: R * C < 2147483392
// launch: row_sum grid(R) block(256) args(in0, out0, R, C)
#include <cute/tensor_impl.hpp>  // tensors and layouts, no atoms
using namespace cute;

extern "C" __global__ __launch_bounds__(256) void row_sum(const float* x, float* y, int rows, int cols) {
  __shared__ float words[256];
  Tensor sums = make_tensor(make_smem_ptr(words), Layout<_256>{});
  Tensor in = make_tensor(make_gmem_ptr(x), make_shape(rows, cols), make_stride(cols, _1{}))(int(blockIdx.x), _);
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 256) sum += in(c);
  sums(threadIdx.x) = sum;
  __syncthreads();
  for (int half = 128; half > 0; half /= 2) {
    if (threadIdx.x < half) sums(threadIdx.x) += sums(threadIdx.x + half);
    __syncthreads();
  }
  if (threadIdx.x == 0) y[blockIdx.x] = sums(0);
}
