// kernel: transpose through a 16 x 16 tile
// in: float32[45, 70]
// out: float32[70, 45]
// model: in0.T
// fault: race uninitialised
// axes: R = in0[0], C = in0[1]
// launch: transpose grid(cdiv(C, 16), cdiv(R, 16)) block(16, 16) args(in0, out0, R, C)
extern "C" __global__ void transpose(const float* in, float* out, int rows, int cols) {
  __shared__ float tile[16][17];
  int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < cols && y < rows) tile[threadIdx.y][threadIdx.x] = in[y * cols + x];  // <- fault
  int tx = blockIdx.y * 16 + threadIdx.x, ty = blockIdx.x * 16 + threadIdx.y;
  if (tx < rows && ty < cols) out[ty * rows + tx] = tile[threadIdx.x][threadIdx.y];  // <- fault
}
