// kernel: mean of a cell and its four neighbours, edges repeated
// in: float32[37, 53]
// out: float32[37, 53]
// model: (lambda p: (p[1:-1, 1:-1] + p[:-2, 1:-1] + p[2:, 1:-1] + p[1:-1, :-2] + p[1:-1, 2:]) / 5)(np.pad(in0, 1, mode='edge'))
// tolerance: 1e-5
// axes: H = in0[0], W = in0[1]
// launch: blur grid(cdiv(W, 24), cdiv(H, 6)) block(24, 6) args(in0, out0, H, W)
extern "C" __global__ void blur(const float* in, float* out, int h, int w) {
  __shared__ float s[8][26];
  int x0 = int(blockIdx.x) * 24 - 1, y0 = int(blockIdx.y) * 6 - 1;
  int t = threadIdx.y * 24 + threadIdx.x;
  for (int j = t; j < 8 * 26; j += 24 * 6) {
    int y = min(max(y0 + j / 26, 0), h - 1);
    int x = min(max(x0 + j % 26, 0), w - 1);
    s[j / 26][j % 26] = in[y * w + x];
  }
  __syncthreads();
  int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  int x = x0 + tx, y = y0 + ty;
  if (x < w && y < h)
    out[y * w + x] = (s[ty][tx] + s[ty - 1][tx] + s[ty + 1][tx] + s[ty][tx - 1] + s[ty][tx + 1]) / 5.0f;
}
