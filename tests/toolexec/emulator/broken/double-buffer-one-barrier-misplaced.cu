// kernel: each 128 of a row turned round and added up, the next tile loaded meanwhile
// in: float32[4, 640]
// out: float32[4, 128]
// model: in0.reshape(4, 5, 128)[:, :, ::-1].sum(1)
// tolerance: 1e-5
// fault: race
// axes: R = in0[0], C = in0[1]
// launch: fold grid(R) block(128) args(in0, out0, C // 128)
extern "C" __global__ void fold(const float* in, float* out, int tiles) {
  __shared__ float buf[2][128];
  int t = threadIdx.x;
  const float* src = in + blockIdx.x * tiles * 128 + t;
  buf[0][t] = src[0];
  float sum = 0;
  for (int k = 0; k < tiles; k++) {
    int cur = k % 2;
    if (k + 1 < tiles)
      buf[cur ^ 1][t] = src[(k + 1) * 128];  // <- fault
    __syncthreads();
    sum += buf[cur][127 - t];  // <- fault
  }
  out[blockIdx.x * 128 + t] = sum;
}
