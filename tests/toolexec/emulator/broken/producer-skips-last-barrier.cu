// kernel: reverse each 128 of a row; one warp loads, four store
// in: float32[3, 512]
// out: float32[3, 512]
// model: in0.reshape(3, 4, 128)[:, :, ::-1].reshape(3, 512)
// fault: barrier-divergence deadlock
// axes: R = in0[0], C = in0[1]
// launch: reverse_tiles grid(R) block(160) args(in0, out0, C // 128)
extern "C" __global__ void reverse_tiles(const float* in, float* out, int tiles) {
  __shared__ float tile[128];
  in += blockIdx.x * tiles * 128;
  out += blockIdx.x * tiles * 128;
  if (threadIdx.x < 32) {
    for (int k = 0; k < tiles; k++) {
      for (int i = threadIdx.x; i < 128; i += 32) tile[i] = in[k * 128 + i];
      __syncthreads();  // <- fault
      if (k + 1 < tiles) __syncthreads();  // <- fault
    }
  } else {
    int t = threadIdx.x - 32;
    for (int k = 0; k < tiles; k++) {
      __syncthreads();  // <- fault
      out[k * 128 + t] = tile[127 - t];
      __syncthreads();  // <- fault
    }
  }
}
