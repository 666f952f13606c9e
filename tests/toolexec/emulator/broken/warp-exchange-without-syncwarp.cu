// kernel: reverse each row of 32, one warp a row
// in: float32[14, 32]
// out: float32[14, 32]
// model: in0[:, ::-1]
// fault: race uninitialised
// axes: R = in0[0]
// launch: reverse grid(cdiv(R, 4)) block(32, 4) args(in0, out0, R)
extern "C" __global__ void reverse(const float* in, float* out, int rows) {
  __shared__ float buf[4][32];
  int lane = threadIdx.x, w = threadIdx.y, row = blockIdx.x * 4 + w;
  if (row >= rows) return;
  buf[w][lane] = in[row * 32 + lane];  // <- fault
  // same warp, so no barrier
  out[row * 32 + lane] = buf[w][31 - lane];  // <- fault
}
