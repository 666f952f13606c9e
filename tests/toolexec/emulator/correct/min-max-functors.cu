// kernel: smallest and largest of each row, one template for both
// in: int32[14, 121]
// out: int32[14], int32[14]
// model: (in0.min(1), in0.max(1))
#include "kernelwright.h"
struct Min {
  static constexpr int neutral = 2147483647;
  __device__ int operator()(int a, int b) const { return a < b ? a : b; }
};
struct Max {
  static constexpr int neutral = -2147483647 - 1;
  __device__ int operator()(int a, int b) const { return a > b ? a : b; }
};
template <class Op, int WARPS>
__global__ void reduce_rows(const int* in, int* out, int cols) {
  __shared__ int part[WARPS];
  Op op;
  int v = Op::neutral;
  for (int c = threadIdx.x; c < cols; c += blockDim.x) v = op(v, in[blockIdx.x * cols + c]);
  for (int d = 16; d; d /= 2) v = op(v, __shfl_down_sync(0xffffffff, v, d));
  if (threadIdx.x % 32 == 0) part[threadIdx.x / 32] = v;
  __syncthreads();
  if (threadIdx.x == 0) {
    for (int w = 1; w < WARPS; w++) v = op(v, part[w]);
    out[blockIdx.x] = v;
  }
}
int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  int rows = int(in[0].shape[0]), cols = int(in[0].shape[1]);
  cudaStream_t s = (cudaStream_t)stream;
  reduce_rows<Min, 3><<<rows, 96, 0, s>>>((const int*)in[0].data, (int*)out[0].data, cols);
  reduce_rows<Max, 2><<<rows, 64, 0, s>>>((const int*)in[0].data, (int*)out[1].data, cols);
  return cudaGetLastError();
}
