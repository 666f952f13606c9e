// kernel: sum of the six neighbours minus six times the cell in the inside of a box, marching in z
// in: int32[9, 11, 37]
// out: int32[7, 9, 35]
// model: in0[2:, 1:-1, 1:-1] + in0[:-2, 1:-1, 1:-1] + in0[1:-1, 2:, 1:-1] + in0[1:-1, :-2, 1:-1] + in0[1:-1, 1:-1, 2:] + in0[1:-1, 1:-1, :-2] - 6 * in0[1:-1, 1:-1, 1:-1]
// axes: D = in0[0], H = in0[1], W = in0[2]
// launch: laplace grid(cdiv(W - 2, 16), cdiv(H - 2, 4)) block(16, 4) args(in0, out0, D, H, W)
extern "C" __global__ void laplace(const int* in, int* out, int d, int h, int w) {
  int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= w - 1 || y >= h - 1) return;
  int plane = h * w;
  const int* p = in + y * w + x;
  int below = p[0], here = p[plane];
  for (int z = 1; z < d - 1; z++) {
    const int* q = p + z * plane;
    int above = q[plane];
    int sum = below + above + q[-1] + q[1] + q[-w] + q[w] - 6 * here;
    out[((z - 1) * (h - 2) + (y - 1)) * (w - 2) + (x - 1)] = sum;
    below = here;
    here = above;
  }
}
