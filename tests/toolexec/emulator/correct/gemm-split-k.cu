// kernel: matrix product, the inner dimension split over five blocks, added atomically
// in: float32[18, 103], float32[103, 22]
// out: float32[18, 22]
// model: in0 @ in1
// tolerance: 1e-4
// axes: M = in0[0], K = in0[1], N = in1[1]
// launch: zero grid(cdiv(M * N, 64)) block(64) args(out0, M * N)
// launch: gemm grid(cdiv(N, 8), cdiv(M, 8), 5) block(8, 8) args(in0, in1, out0, M, N, K)
extern "C" __global__ void zero(float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = 0;
}
extern "C" __global__ void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  int col = blockIdx.x * 8 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= m || col >= n) return;
  int chunk = (k + gridDim.z - 1) / gridDim.z, begin = blockIdx.z * chunk, end = min(k, begin + chunk);
  float acc = 0;
  for (int i = begin; i < end; i++) acc += a[row * k + i] * b[i * n + col];
  atomicAdd(&c[row * n + col], acc);
}
