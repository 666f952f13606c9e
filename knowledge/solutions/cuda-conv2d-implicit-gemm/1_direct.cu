// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_direct.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_direct.cu --device emulated --set batch=1 --set channels=3 --set filters=5 --set height=9 --set width=11
// 3x3 convolution, padding 1, NCHW float32, any sizes: a thread an output sums over channels and taps. Two loads for each
// multiply-add, of which the weight is one word for all threads of a warp; nothing is kept for the next filter.
// shows: LDG.E FFMA STG.E
// language: cuda
// axes: N = in0[0], C = in0[1], H = in0[2], W = in0[3], F = param0[0]
// dtypes: in0 = float32, param0 = float32, out0 = float32
// require: param0[1] == C, numel(out0) == N * F * H * W
// require: N * F <= 65535, param0[2] == 3, param0[3] == 3
// launch: conv grid(cdiv(W, 32), cdiv(H, 8), N * F) block(32, 8) args(in0, param0, out0, C, F, H, W)

extern "C" __global__ __launch_bounds__(256) void conv(const float* x, const float* weight, float* y, int channels,
                                                       int filters, int h, int w) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= h || col >= w) return;
  const int image = blockIdx.z / filters, filter = blockIdx.z % filters;
  float sum = 0;
  for (int c = 0; c < channels; ++c) {
    const float* in = x + ((size_t)image * channels + c) * h * w;
    const float* taps = weight + ((size_t)filter * channels + c) * 9;
    for (int i = 0; i < 3; ++i)
      for (int j = 0; j < 3; ++j) {
        const int r = row + i - 1, s = col + j - 1;
        if (r >= 0 && r < h && s >= 0 && s < w) sum += in[r * w + s] * taps[i * 3 + j];
      }
  }
  y[((size_t)blockIdx.z * h + row) * w + col] = sum;
}
