// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_register_blocked.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_register_blocked.cu --device emulated --set m=70 --set k=20 --set n=72
// A thread computes 8 x 8 outputs in registers: 16 reads of shared memory for 64 multiply-adds instead of 128. 128 x 128
// outputs a block of 256 threads, 8 deep. Rows and columns of a thread lie 16 apart, so that the 16 lanes that differ in
// columns read 16 neighbouring words and those that share a row read the same one: no bank conflicts.
// shows: LDS FFMA BAR.SYNC
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[1]
// dtypes: in0 = float32, in1 = float32, out0 = float32
// require: numel(in0) == M * K, in1[0] == K
// launch: gemm grid(cdiv(N, 128), cdiv(M, 128)) block(256) args(in0, in1, out0, M, N, K)

extern "C" __global__ __launch_bounds__(256) void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float ta[8][129], tb[8][128];  // a turned, padded: its writes go down a column
  const int me = threadIdx.x, tx = me % 16, ty = me / 16, row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
  float sum[8][8] = {};
  for (int k0 = 0; k0 < k; k0 += 8) {
#pragma unroll
    for (int i = me; i < 1024; i += 256) {
      const int ar = i / 8, ak = i % 8, bk = i / 128, bc = i % 128;
      ta[ak][ar] = row0 + ar < m && k0 + ak < k ? a[(size_t)(row0 + ar) * k + k0 + ak] : 0.0f;
      tb[bk][bc] = k0 + bk < k && col0 + bc < n ? b[(size_t)(k0 + bk) * n + col0 + bc] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float ra[8], rb[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) ra[j] = ta[i][ty + 16 * j], rb[j] = tb[i][tx + 16 * j];
#pragma unroll
      for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int s = 0; s < 8; ++s) sum[r][s] += ra[r] * rb[s];
    }
    __syncthreads();  // the tiles may be written again
  }
#pragma unroll
  for (int r = 0; r < 8; ++r)
#pragma unroll
    for (int s = 0; s < 8; ++s) {
      const int row = row0 + ty + 16 * r, col = col0 + tx + 16 * s;
      if (row < m && col < n) c[(size_t)row * n + col] = sum[r][s];
    }
}
