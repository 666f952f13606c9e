// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_tiled.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_tiled.cu --device emulated --set m=33 --set k=20 --set n=40
// A block computes 32 x 32 outputs; tiles of a and b, 32 deep, pass through shared memory, so that each value is loaded from
// global memory once for 32 uses. But still two reads of shared memory for each multiply-add: its bandwidth limits now.
// shows: LDS STS FFMA BAR.SYNC
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[1]
// dtypes: in0 = float32, in1 = float32, out0 = float32
// require: numel(in0) == M * K, in1[0] == K
// launch: gemm grid(cdiv(N, 32), cdiv(M, 32)) block(32, 32) args(in0, in1, out0, M, N, K)

extern "C" __global__ __launch_bounds__(1024) void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float ta[32][32], tb[32][32];
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 32 + threadIdx.y;
  float sum = 0;
  for (int k0 = 0; k0 < k; k0 += 32) {
    const int ak = k0 + threadIdx.x, bk = k0 + threadIdx.y;
    ta[threadIdx.y][threadIdx.x] = row < m && ak < k ? a[(size_t)row * k + ak] : 0.0f;
    tb[threadIdx.y][threadIdx.x] = bk < k && col < n ? b[(size_t)bk * n + col] : 0.0f;
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 32; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();  // the tiles may be written again
  }
  if (row < m && col < n) c[(size_t)row * n + col] = sum;
}
