// kernel: how often each digit occurs, equal digits of a warp counted together
// in: int32[999]
// out: int32[10]
// model: np.bincount(in0, minlength=10)
// axes: N = in0[0]
// launch: clear grid(1) block(10) args(out0)
// launch: count grid(cdiv(N, 64)) block(64) args(in0, out0, N)
extern "C" __global__ void clear(int* out) { out[threadIdx.x] = 0; }

extern "C" __global__ void count(const int* in, int* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int digit = i < n ? in[i] : -1;  // every lane takes part
  unsigned peers = __match_any_sync(0xffffffffu, digit);
  bool leads = __ffs(peers) - 1 == int(threadIdx.x % 32);
  if (leads && digit >= 0) atomicAdd(out + digit, __popc(peers));
}
