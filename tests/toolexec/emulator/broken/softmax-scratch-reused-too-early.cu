// kernel: softmax of each row, one block of four warps a row
// in: float32[13, 77]
// out: float32[13, 77]
// model: np.exp(in0) / np.exp(in0).sum(1, keepdims=True)
// tolerance: 1e-4
// fault: race
// axes: R = in0[0], C = in0[1]
// launch: softmax grid(R) block(128) args(in0, out0, C)
extern "C" __global__ void softmax(const float* in, float* out, int cols) {
  __shared__ float red[4];
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  const float x = t < cols ? in[blockIdx.x * cols + t] : -1e30f;
  float m = x;
  for (int o = 16; o > 0; o >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, o));
  if (lane == 0) red[warp] = m;
  __syncthreads();
  m = fmaxf(fmaxf(red[0], red[1]), fmaxf(red[2], red[3]));  // <- fault
  const float e = t < cols ? expf(x - m) : 0.f;
  float s = e;
  for (int o = 16; o > 0; o >>= 1) s += __shfl_xor_sync(0xffffffffu, s, o);
  if (lane == 0) red[warp] = s;  // <- fault
  __syncthreads();
  s = red[0] + red[1] + red[2] + red[3];
  if (t < cols) out[blockIdx.x * cols + t] = e / s;
}
