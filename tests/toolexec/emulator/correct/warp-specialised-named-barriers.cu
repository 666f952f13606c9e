// kernel: each 64 of a row turned round and added up; warp 0 loads, warps 1 and 2 add
// in: float32[5, 448]
// out: float32[5, 64]
// model: in0.reshape(5, 7, 64)[:, :, ::-1].sum(1)
// tolerance: 1e-5
// axes: R = in0[0], C = in0[1]
// require: C % 64 == 0
// launch: fold grid(R) block(96) args(in0, out0, C // 64)
__device__ void sync_on(int id) { asm volatile("bar.sync %0, 96;" ::"r"(id) : "memory"); }
__device__ void arrive_on(int id) { asm volatile("bar.arrive %0, 96;" ::"r"(id) : "memory"); }

extern "C" __global__ void fold(const float* in, float* out, int tiles) {
  __shared__ float buf[2][64];
  const float* src = in + blockIdx.x * tiles * 64;
  const int full = 1, empty = 3;  // two barriers each
  if (threadIdx.x < 32) {
    for (int k = 0; k < tiles; ++k) {
      int b = k % 2;
      if (k >= 2) sync_on(empty + b);
      buf[b][threadIdx.x] = src[k * 64 + threadIdx.x];
      buf[b][threadIdx.x + 32] = src[k * 64 + threadIdx.x + 32];
      arrive_on(full + b);
    }
  } else {
    int t = threadIdx.x - 32;
    float sum = 0.f;
    for (int k = 0; k < tiles; ++k) {
      int b = k % 2;
      sync_on(full + b);
      sum += buf[b][63 - t];
      if (k + 2 < tiles) arrive_on(empty + b);
    }
    out[blockIdx.x * 64 + t] = sum;
  }
}
