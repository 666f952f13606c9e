// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 4_sliding_sums.cu -o k.cubin
// run: kernelwright evaluate reference.py 4_sliding_sums.cu --device emulated --set height=20 --set width=70
// A thread walks down ROWS rows of one column and keeps the last two row sums in registers: three loads (neighbours share
// them in the L1), three adds, one multiplication a pixel; no shared memory, no barrier. Two rows of the halo are read twice
// for ROWS rows: a higher band reads less and leaves fewer threads.
// shows: LDG.E FADD STG.E
// language: cuda
// tunable ROWS = 16 in {8, 16, 32}
// axes: H = out0[0], W = out0[1]
// dtypes: in0 = float32, out0 = float32
// require: in0[0] == H + 2, in0[1] == W + 2
// launch: blur grid(cdiv(W, 128), cdiv(H, ROWS)) block(128) args(in0, out0, H, W)
#ifndef ROWS
#define ROWS 16
#endif

extern "C" __global__ __launch_bounds__(128) void blur(const float* __restrict__ x, float* __restrict__ y, int h, int w) {
  const int col = blockIdx.x * 128 + threadIdx.x, top = blockIdx.y * ROWS;
  if (col >= w) return;
  const float* in = x + (size_t)top * (w + 2) + col;
  auto row_sum = [&](int i) {
    const float* at = in + (size_t)i * (w + 2);
    return at[0] + at[1] + at[2];
  };
  float first = row_sum(0), second = row_sum(1);
#pragma unroll
  for (int i = 0; i < ROWS; ++i)
    if (top + i < h) {
      const float third = row_sum(i + 2);
      y[(size_t)(top + i) * w + col] = (first + second + third) * (1.0f / 9);
      first = second, second = third;
    }
}
