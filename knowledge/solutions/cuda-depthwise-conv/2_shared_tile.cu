// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_shared_tile.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_shared_tile.cu --device emulated --set batch=1 --set channels=2 --set height=9 --set width=33
// A block brings its 32 x 8 outputs' inputs, 34 x 10 with the halo, into shared memory once: bounds are tested once an input
// and not nine times an output, and the nine reads of an output come from shared memory without conflicts.
// shows: LDS FFMA STG.E
// language: cuda
// axes: N = in0[0], C = in0[1], H = in0[2], W = in0[3]
// dtypes: in0 = float32, param0 = float32, out0 = float32
// require: param0[0] == C, param0[1] == 1, param0[2] == 3, param0[3] == 3, numel(out0) == N * C * H * W
// require: N * C <= 65535
// launch: depthwise grid(cdiv(W, 32), cdiv(H, 8), N * C) block(32, 8) args(in0, param0, out0, C, H, W)

extern "C" __global__ __launch_bounds__(256) void depthwise(const float* x, const float* filters, float* y, int channels,
                                                            int h, int w) {
  __shared__ float tile[10][34];
  const float* image = x + (size_t)blockIdx.z * h * w;
  const float* filter = filters + blockIdx.z % channels * 9;
  const int top = blockIdx.y * 8 - 1, left = blockIdx.x * 32 - 1;
  for (int i = threadIdx.y * 32 + threadIdx.x; i < 340; i += 256) {
    const int r = top + i / 34, c = left + i % 34;
    tile[i / 34][i % 34] = r >= 0 && r < h && c >= 0 && c < w ? image[r * w + c] : 0.0f;
  }
  __syncthreads();
  const int col = blockIdx.x * 32 + threadIdx.x, row = blockIdx.y * 8 + threadIdx.y;
  if (row >= h || col >= w) return;
  float sum = 0;
#pragma unroll
  for (int i = 0; i < 3; ++i)
#pragma unroll
    for (int j = 0; j < 3; ++j) sum += tile[threadIdx.y + i][threadIdx.x + j] * filter[i * 3 + j];
  y[((size_t)blockIdx.z * h + row) * w + col] = sum;
}
