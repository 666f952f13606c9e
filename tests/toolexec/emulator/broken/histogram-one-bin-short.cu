// kernel: how often each digit occurs
// in: int32[777]
// out: int32[10]
// model: np.bincount(in0, minlength=10)
// fault: out-of-bounds
// axes: N = in0[0]
// launch: clear grid(1) block(10) args(out0)
// launch: count grid(cdiv(N, 192)) block(192) args(in0, out0, N)
enum { BINS = 9 };
extern "C" __global__ void clear(int* out) { out[threadIdx.x] = 0; }

extern "C" __global__ void count(const int* in, int* out, int n) {
  __shared__ int bins[BINS];
  int t = threadIdx.x;
  if (t < BINS) bins[t] = 0;
  __syncthreads();
  int i = blockIdx.x * blockDim.x + t;
  if (i < n)
    atomicAdd(&bins[in[i]], 1);  // <- fault
  __syncthreads();
  if (t < BINS && bins[t]) atomicAdd(out + t, bins[t]);
}
