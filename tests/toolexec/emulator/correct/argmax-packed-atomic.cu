// kernel: where the largest lies, value and place packed into 64 bits
// in: float32[1234]
// out: int32[1]
// model: np.array([in0.argmax()])
// axes: N = in0[0]
// scratch: best = int64[1]
// launch: clear grid(1) block(1) args(best)
// launch: largest grid(cdiv(N, 160)) block(160) args(in0, best, N)
// launch: unpack grid(1) block(1) args(best, out0)
typedef unsigned long long u64;
extern "C" __global__ void clear(u64* best) { *best = 0; }

extern "C" __global__ void largest(const float* in, u64* best, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  u64 key = 0;
  if (i < n) {
    unsigned bits = __float_as_uint(in[i]);
    bits = bits & 0x80000000u ? ~bits : bits | 0x80000000u;  // the order of the floats
    key = (u64)bits << 32 | (0xffffffffu - (unsigned)i);
  }
  for (int d = 16; d; d /= 2) {
    u64 other = __shfl_down_sync(0xffffffff, key, d);
    key = other > key ? other : key;
  }
  if (threadIdx.x % 32 == 0) atomicMax(best, key);
}
extern "C" __global__ void unpack(const u64* best, int* out) { *out = int(0xffffffffu - (unsigned)*best); }
