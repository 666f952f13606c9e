// kernel: sum of each row, four at a time, one warp a row
// in: float32[6, 101]
// out: float32[6]
// model: in0.sum(1)
// tolerance: 1e-4
// fault: misaligned
// axes: R = in0[0], C = in0[1]
// launch: row_sum grid(R) block(32) args(in0, out0, C)
extern "C" __global__ void row_sum(const float* in, float* out, int cols) {
  const float* row = in + blockIdx.x * cols;
  int lane = threadIdx.x, quads = cols / 4;
  float s = 0;
  for (int i = lane; i < quads; i += 32) {
    float4 v = reinterpret_cast<const float4*>(row)[i];  // <- fault
    s += v.x + v.y + v.z + v.w;
  }
  for (int i = quads * 4 + lane; i < cols; i += 32) s += row[i];
  for (int d = 16; d; d /= 2) s += __shfl_xor_sync(0xffffffff, s, d);
  if (lane == 0) out[blockIdx.x] = s;
}
