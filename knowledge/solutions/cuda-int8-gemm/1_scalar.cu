// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_scalar.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_scalar.cu --device emulated --set rows=33 --set depth=20 --set features=40
// y = x @ w.T, int8 operands, int32 sums, any shape: a thread an output, byte by byte. Loads of single bytes and a
// conversion of each.
// shows: LDG.E.S8 IMAD STG.E
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = int8, in1 = int8, out0 = int32
// require: numel(in0) == M * K, numel(in1) == N * K
// launch: product grid(cdiv(N, 32), cdiv(M, 8)) block(32, 8) args(in0, in1, out0, M, N, K)

extern "C" __global__ __launch_bounds__(256) void product(const signed char* x, const signed char* w, int* y, int m, int n,
                                                          int k) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= m || col >= n) return;
  int sum = 0;
  for (int i = 0; i < k; ++i) sum += x[(size_t)row * k + i] * w[(size_t)col * k + i];
  y[(size_t)row * n + col] = sum;
}
