// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_nine_taps.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_nine_taps.cu --device emulated --set height=20 --set width=70
// 3x3 box blur of a float32 image, valid pixels: a thread a pixel adds nine values and divides. Nine loads and nine adds a
// pixel; the L1 serves eight of nine loads.
// shows: LDG.E FADD STG.E
// language: cuda
// axes: H = out0[0], W = out0[1]
// dtypes: in0 = float32, out0 = float32
// require: in0[0] == H + 2, in0[1] == W + 2
// launch: blur grid(cdiv(W, 32), cdiv(H, 8)) block(32, 8) args(in0, out0, H, W)

extern "C" __global__ __launch_bounds__(256) void blur(const float* x, float* y, int h, int w) {
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= h || col >= w) return;
  float sum = 0;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) sum += x[(size_t)(row + i) * (w + 2) + col + j];
  y[(size_t)row * w + col] = sum * (1.0f / 9);
}
