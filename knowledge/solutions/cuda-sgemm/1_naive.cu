// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_naive.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_naive.cu --device emulated --set m=33 --set k=20 --set n=40
// c = a @ b, float32, any shape, on ordinary cores: a thread an output, a dot product straight from global memory. Two loads
// for each multiply-add; a warp's loads of a are one word for all, those of b are coalesced.
// shows: LDG.E FFMA STG.E
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[1]
// dtypes: in0 = float32, in1 = float32, out0 = float32
// require: numel(in0) == M * K, in1[0] == K
// launch: gemm grid(cdiv(N, 32), cdiv(M, 8)) block(32, 8) args(in0, in1, out0, M, N, K)

extern "C" __global__ __launch_bounds__(256) void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= m || col >= n) return;
  float sum = 0;
  for (int i = 0; i < k; ++i) sum += a[(size_t)row * k + i] * b[(size_t)i * n + col];
  c[(size_t)row * n + col] = sum;
}
