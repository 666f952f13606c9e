// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_direct.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_direct.cu --device emulated --set batch=1 --set channels=2 --set height=9 --set width=33
// Depthwise 3x3 convolution, padding 1, NCHW float32: a thread an output, nine loads with bounds tests. Neighbours load the
// same values again; the L1 serves them, and its bandwidth and the instructions limit, not DRAM.
// shows: LDG.E FFMA STG.E
// language: cuda
// axes: N = in0[0], C = in0[1], H = in0[2], W = in0[3]
// dtypes: in0 = float32, param0 = float32, out0 = float32
// require: param0[0] == C, param0[1] == 1, param0[2] == 3, param0[3] == 3, numel(out0) == N * C * H * W
// require: N * C <= 65535
// launch: depthwise grid(cdiv(W, 32), cdiv(H, 8), N * C) block(32, 8) args(in0, param0, out0, C, H, W)

extern "C" __global__ __launch_bounds__(256) void depthwise(const float* x, const float* filters, float* y, int channels,
                                                            int h, int w) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= h || col >= w) return;
  const float* image = x + (size_t)blockIdx.z * h * w;
  const float* filter = filters + blockIdx.z % channels * 9;
  float sum = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) {
      const int r = row + i - 1, c = col + j - 1;
      if (r >= 0 && r < h && c >= 0 && c < w) sum += image[r * w + c] * filter[i * 3 + j];
    }
  y[((size_t)blockIdx.z * h + row) * w + col] = sum;
}
