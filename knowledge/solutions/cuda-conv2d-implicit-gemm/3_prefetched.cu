// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_prefetched.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_prefetched.cu --device emulated --set batch=1 --set channels=3 --set filters=5 --set height=9 --set width=11
// Two buffers of shared memory and a tile in registers: the next tile's elements are looked up and loaded before this one is
// multiplied and stored to the other buffer after it, so that looking up (divisions, bounds) and latency hide behind FMAs, and
// one barrier a tile is left. 4 + 4 values of a step come as two 16-byte reads of shared memory.
// shows: LDS.128 FFMA BAR.SYNC
// language: cuda
// axes: N = in0[0], C = in0[1], H = in0[2], W = in0[3], F = param0[0]
// dtypes: in0 = float32, param0 = float32, out0 = float32
// require: param0[1] == C, numel(out0) == N * F * H * W
// require: param0[2] == 3, param0[3] == 3, N * H * W < 2147483520
// launch: conv grid(cdiv(N * H * W, 64), cdiv(F, 64)) block(256) args(in0, param0, out0, C, F, H, W, N * H * W)

extern "C" __global__ __launch_bounds__(256) void conv(const float* __restrict__ x, const float* __restrict__ weight,
                                                       float* __restrict__ y, int channels, int filters, int h, int w,
                                                       int pixels) {
  __shared__ __align__(16) float ta[2][16][68], tb[2][16][64];
  const int me = threadIdx.x, tx = me % 16, ty = me / 16, depth = channels * 9;
  const int pixel = blockIdx.x * 64 + me % 64;
  const int image = pixel / (h * w), row = pixel / w % h, col = pixel % w;
  const float* in = x + (size_t)image * channels * h * w;
  float next_a[4], next_b[4], sum[4][4] = {};
  auto look_up = [&](int k0) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const int filter = blockIdx.y * 64 + me / 16 + 16 * j, ka = k0 + me % 16;
      next_a[j] = filter < filters && ka < depth ? weight[(size_t)filter * depth + ka] : 0.0f;
      const int k = k0 + me / 64 + 4 * j, c = k / 9, r = row + k % 9 / 3 - 1, s = col + k % 3 - 1;
      const bool there = k < depth && pixel < pixels && r >= 0 && r < h && s >= 0 && s < w;
      next_b[j] = there ? in[((size_t)c * h + r) * w + s] : 0.0f;
    }
  };
  look_up(0);
  for (int k0 = 0, buffer = 0; k0 < depth; k0 += 16, buffer ^= 1) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      ta[buffer][me % 16][me / 16 + 16 * j] = next_a[j];
      tb[buffer][me / 64 + 4 * j][me % 64] = next_b[j];
    }
    __syncthreads();  // also: the other buffer has been read by all before it is written again
    look_up(k0 + 16);
#pragma unroll
    for (int i = 0; i < 16; ++i) {
      const float4 a4 = *reinterpret_cast<const float4*>(&ta[buffer][i][4 * ty]);
      const float4 b4 = *reinterpret_cast<const float4*>(&tb[buffer][i][4 * tx]);
      const float a[4] = {a4.x, a4.y, a4.z, a4.w}, b[4] = {b4.x, b4.y, b4.z, b4.w};
#pragma unroll
      for (int r = 0; r < 4; ++r)
#pragma unroll
        for (int s = 0; s < 4; ++s) sum[r][s] += a[r] * b[s];
    }
  }
#pragma unroll
  for (int r = 0; r < 4; ++r)
#pragma unroll
    for (int s = 0; s < 4; ++s) {
      const int filter = blockIdx.y * 64 + 4 * ty + r, p = blockIdx.x * 64 + 4 * tx + s;
      if (filter < filters && p < pixels)
        y[((size_t)(p / (h * w)) * filters + filter) * h * w + p % (h * w)] = sum[r][s];
    }
}
