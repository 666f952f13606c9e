// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_dot_product.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_dot_product.cu --device emulated --set rows=33 --set depth=32 --set features=40
// dp4a (IDP.4A): four products and their sum in one instruction on packed bytes. 32 x 32 outputs a block through shared
// memory, four a thread; words of four bytes everywhere, so a quarter of the loads. Depth must be a multiple of 4.
// shows: IDP.4A.S8.S8 LDS STS
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = int8, in1 = int8, out0 = int32
// require: numel(in0) == M * K, numel(in1) == N * K
// require: K % 4 == 0
// launch: product grid(cdiv(N, 32), cdiv(M, 32)) block(32, 8) args(in0, in1, out0, M, N, K // 4)

extern "C" __global__ __launch_bounds__(256) void product(const int* x, const int* w, int* y, int m, int n, int words) {
  __shared__ int tx[32][33], tw[32][33];  // rows by words of depth
  const int row0 = blockIdx.y * 32, col0 = blockIdx.x * 32;
  int sum[4] = {};
  for (int w0 = 0; w0 < words; w0 += 32) {
    const int d = w0 + threadIdx.x;
#pragma unroll
    for (int i = threadIdx.y; i < 32; i += 8) {
      tx[i][threadIdx.x] = row0 + i < m && d < words ? x[(size_t)(row0 + i) * words + d] : 0;
      tw[i][threadIdx.x] = col0 + i < n && d < words ? w[(size_t)(col0 + i) * words + d] : 0;
    }
    __syncthreads();
#pragma unroll 8
    for (int i = 0; i < 32; ++i) {
      const int b = tw[threadIdx.x][i];
#pragma unroll
      for (int j = 0; j < 4; ++j) sum[j] = __dp4a(tx[threadIdx.y + 8 * j][i], b, sum[j]);
    }
    __syncthreads();  // the tiles may be written again
  }
  const int col = col0 + threadIdx.x;
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int row = row0 + threadIdx.y + 8 * j;
    if (row < m && col < n) y[(size_t)row * n + col] = sum[j];
  }
}
