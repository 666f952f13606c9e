// kernel: a x + y
// in: float32[1000], float32[1000]
// out: float32[1000]
// scalars: 0.5
// model: scalar0 * in0 + in1
// tolerance: 1e-6
// fault: out-of-bounds
// axes: N = in0[0]
// launch: axpy grid(cdiv(N, 256)) block(256) args(in0, in1, out0, float(scalar0), N)
extern "C" __global__ void axpy(const float* x, const float* y, float* out, float a, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i <= n)
    out[i] = a * x[i] + y[i];  // <- fault
}
