// kernel: mean of each row, one warp a row
// in: float32[37, 101]
// out: float32[37]
// model: in0.mean(1)
// tolerance: 1e-5
// axes: R = in0[0], C = in0[1]
// launch: row_mean grid(cdiv(R, 3)) block(32, 3) args(in0, out0, R, C)
extern "C" __global__ void row_mean(const float* in, float* out, int rows, int cols) {
  int r = blockIdx.x * blockDim.y + threadIdx.y;
  if (r >= rows) return;
  float sum = 0;
  for (int c = threadIdx.x; c < cols; c += 32) sum += in[r * cols + c];
  for (int d = 16; d; d /= 2) sum += __shfl_xor_sync(0xffffffff, sum, d);
  if (threadIdx.x == 0) out[r] = sum / cols;
}
