// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_implicit_gemm.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_implicit_gemm.cu --device emulated --set batch=1 --set channels=3 --set filters=5 --set height=9 --set width=11
// The convolution is a matrix product: filters x (channels * 9) times (channels * 9) x (pixels of all images). The right matrix
// is never built; its elements are looked up in the image when a tile of it is loaded (implicit im2col). 64 filters x 64
// pixels a block, 4 x 4 a thread in registers: 8 reads of shared memory for 16 multiply-adds.
// shows: LDS FFMA BAR.SYNC
// language: cuda
// axes: N = in0[0], C = in0[1], H = in0[2], W = in0[3], F = param0[0]
// dtypes: in0 = float32, param0 = float32, out0 = float32
// require: param0[1] == C, numel(out0) == N * F * H * W
// require: param0[2] == 3, param0[3] == 3, N * H * W < 2147483520
// launch: conv grid(cdiv(N * H * W, 64), cdiv(F, 64)) block(256) args(in0, param0, out0, C, F, H, W, N * H * W)

extern "C" __global__ __launch_bounds__(256) void conv(const float* x, const float* weight, float* y, int channels,
                                                       int filters, int h, int w, int pixels) {
  __shared__ float ta[16][65], tb[16][64];  // depth by filters (padded: written down a column), depth by pixels
  const int me = threadIdx.x, tx = me % 16, ty = me / 16, depth = channels * 9;
  const int pixel = blockIdx.x * 64 + me % 64;  // whose column of the right matrix this thread loads
  const int image = pixel / (h * w), row = pixel / w % h, col = pixel % w;
  const float* in = x + (size_t)image * channels * h * w;
  float sum[4][4] = {};
  for (int k0 = 0; k0 < depth; k0 += 16) {
#pragma unroll
    for (int i = me; i < 1024; i += 256) {
      const int filter = blockIdx.y * 64 + i / 16, k = k0 + i % 16;
      ta[i % 16][i / 16] = filter < filters && k < depth ? weight[(size_t)filter * depth + k] : 0.0f;
    }
#pragma unroll
    for (int i = me / 64; i < 16; i += 4) {
      const int k = k0 + i, c = k / 9, r = row + k % 9 / 3 - 1, s = col + k % 3 - 1;
      const bool there = k < depth && pixel < pixels && r >= 0 && r < h && s >= 0 && s < w;
      tb[i][me % 64] = there ? in[((size_t)c * h + r) * w + s] : 0.0f;
    }
    __syncthreads();
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      float a[4], b[4];
#pragma unroll
      for (int j = 0; j < 4; ++j) a[j] = ta[i][ty + 16 * j], b[j] = tb[i][tx + 16 * j];
#pragma unroll
      for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int s = 0; s < 4; ++s) sum[r][s] += a[r] * b[s];
    }
    __syncthreads();  // the tiles may be written again
  }
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const int filter = blockIdx.y * 64 + ty + 16 * r, p = blockIdx.x * 64 + tx + 16 * s;
      if (filter < filters && p < pixels)
        y[((size_t)(p / (h * w)) * filters + filter) * h * w + p % (h * w)] = sum[r][s];
    }
}
