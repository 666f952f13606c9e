// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_columns_in_registers.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_columns_in_registers.cu --device emulated --set batch=1 --set channels=2 --set height=9 --set width=33
// A thread walks down a column of 16 rows and keeps the three rows of its window in registers: each step loads one row of
// the window (three values, two of them its neighbours' too, from the L1) and uses it for three outputs. No shared memory,
// no barrier; the filter's nine values stay in registers. A warp's 32 threads lie along the row, so all is coalesced.
// shows: LDG.E FFMA STG.E
// language: cuda
// axes: N = in0[0], C = in0[1], H = in0[2], W = in0[3]
// dtypes: in0 = float32, param0 = float32, out0 = float32
// require: param0[0] == C, param0[1] == 1, param0[2] == 3, param0[3] == 3, numel(out0) == N * C * H * W
// require: N * C <= 65535
// launch: depthwise grid(cdiv(W, 128), cdiv(H, 16), N * C) block(128) args(in0, param0, out0, C, H, W)

constexpr int ROWS = 16;

extern "C" __global__ __launch_bounds__(128) void depthwise(const float* __restrict__ x, const float* __restrict__ filters,
                                                            float* __restrict__ y, int channels, int h, int w) {
  const int col = blockIdx.x * 128 + threadIdx.x, first = blockIdx.y * ROWS;
  if (col >= w) return;
  const float* image = x + (size_t)blockIdx.z * h * w;
  float* out = y + (size_t)blockIdx.z * h * w;
  float f[9], above[3], here[3], below[3];
#pragma unroll
  for (int i = 0; i < 9; ++i) f[i] = filters[blockIdx.z % channels * 9 + i];
  auto load = [&](int r, float (&to)[3]) {
    const bool there = r >= 0 && r < h;
    to[0] = there && col > 0 ? image[r * w + col - 1] : 0.0f;
    to[1] = there ? image[r * w + col] : 0.0f;
    to[2] = there && col + 1 < w ? image[r * w + col + 1] : 0.0f;
  };
  load(first - 1, above);
  load(first, here);
#pragma unroll
  for (int i = 0; i < ROWS; ++i) {
    load(first + i + 1, below);
    float sum = 0;
#pragma unroll
    for (int j = 0; j < 3; ++j) sum += above[j] * f[j] + here[j] * f[3 + j] + below[j] * f[6 + j];
    if (first + i < h) out[(first + i) * w + col] = sum;
#pragma unroll
    for (int j = 0; j < 3; ++j) above[j] = here[j], here[j] = below[j];  // unrolled: names change, nothing moves
  }
}
