// kernel: plain transpose
// in: int32[20, 70]
// out: int32[70, 20]
// model: in0.T
// fault: out-of-bounds
// axes: R = in0[0], C = in0[1]
// launch: transpose grid(cdiv(C, 32), cdiv(R, 4)) block(32, 4) args(in0, out0, R, C)
extern "C" __global__ void transpose(const int* in, int* out, int rows, int cols) {
  int x = blockIdx.x * blockDim.x + threadIdx.x;
  int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= cols || y >= rows) return;
  int v = in[y * cols + x];
  out[x * cols + y] = v;  // <- fault
}
