// kernel: softmax of each row, held in registers by one warp
// in: float32[23, 45]
// out: float32[23, 45]
// model: np.exp(in0) / np.exp(in0).sum(1, keepdims=True)
// tolerance: 1e-5
// axes: R = in0[0], C = in0[1]
// require: C <= 64
// launch: softmax grid(cdiv(R, 5)) block(32, 5) args(in0, out0, R, C)
template <int PER>
__device__ void row_softmax(const float* in, float* out, int cols) {
  float v[PER], m = -1e30f, s = 0.f;
  for (int j = 0; j < PER; ++j) {
    int c = threadIdx.x + 32 * j;
    v[j] = c < cols ? in[c] : -1e30f;
    m = fmaxf(m, v[j]);
  }
  for (int d = 1; d < 32; d <<= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
  for (int j = 0; j < PER; ++j) s += v[j] = __expf(v[j] - m);
  for (int d = 1; d < 32; d <<= 1) s += __shfl_xor_sync(0xffffffffu, s, d);
  for (int j = 0; j < PER; ++j) {
    int c = threadIdx.x + 32 * j;
    if (c < cols) out[c] = v[j] / s;
  }
}
extern "C" __global__ void softmax(const float* in, float* out, int rows, int cols) {
  int r = blockIdx.x * blockDim.y + threadIdx.y;
  if (r < rows) row_softmax<2>(in + r * cols, out + r * cols, cols);
}
