// kernel: one Jacobi step on a rod whose ends are held
// in: float32[700]
// out: float32[700]
// model: np.concatenate([in0[:1], (in0[:-2] + in0[2:]) / 2, in0[-1:]])
// tolerance: 1e-6
// fault: race
// axes: N = in0[0]
// launch: copy grid(cdiv(N, 192)) block(192) args(in0, out0, N)
// launch: relax grid(cdiv(N, 192)) block(192) args(out0, N)
extern "C" __global__ void copy(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
extern "C" __global__ void relax(float* u, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  bool inner = i > 0 && i < n - 1;
  float v = 0;
  if (inner)
    v = 0.5f * (u[i - 1] + u[i + 1]);  // <- fault
  __syncthreads();  // everyone has read, now write
  if (inner)
    u[i] = v;  // <- fault
}
