// kernel: sum of each 32
// in: float32[1000]
// out: float32[32]
// model: np.pad(in0, (0, 24)).reshape(32, 32).sum(1)
// tolerance: 1e-5
// fault: wrong-mask
// axes: N = in0[0]
// launch: warp_sums grid(cdiv(N, 256)) block(256) args(in0, out0, N)
extern "C" __global__ void warp_sums(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float v = in[i];
    for (int d = 16; d > 0; d >>= 1)
      v += __shfl_down_sync(0xffffffff, v, d);  // <- fault
    if (threadIdx.x % 32 == 0) out[i / 32] = v;
  }
}
