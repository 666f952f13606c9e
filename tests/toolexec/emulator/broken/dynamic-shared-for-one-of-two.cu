// kernel: x turned round times y turned round, 96 a block
// in: float32[480], float32[480]
// out: float32[480]
// model: (in0 * in1).reshape(5, 96)[:, ::-1].reshape(480)
// tolerance: 1e-6
// fault: out-of-bounds
// axes: N = in0[0]
// launch: product grid(N // 96) block(96) shared(4 * 96) args(in0, in1, out0)
extern __shared__ float smem[];
extern "C" __global__ void product(const float* x, const float* y, float* out) {
  float* xs = smem;
  float* ys = smem + blockDim.x;
  int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  xs[t] = x[i];
  ys[t] = y[i];  // <- fault
  __syncthreads();
  int r = blockDim.x - 1 - t;
  out[i] = xs[r] * ys[r];  // <- fault
}
