// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_three_kernels.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_three_kernels.cu --device emulated --set elements=3000
// Inclusive scan of one int32 vector, reduce-then-scan: sums of tiles of 1024, a scan of those sums by one block, then a scan
// of each tile that starts at its tile's sum. The vector is read twice and written once; two grids must end before the next
// begins. Inside a tile: a scan of each thread's four elements, of the warp's 32 sums by shuffles, of the block's 8.
// shows: LDG.E SHFL.UP STG.E
// language: cuda
// axes: N = in0[0], T = cdiv(N, 1024)
// dtypes: in0 = int32, out0 = int32
// require: numel(in0) == N
// scratch: sums = int32[T]
// launch: reduce grid(T) block(256) args(in0, sums, N)
// launch: scan_sums grid(1) block(256) args(sums, T)
// launch: scan_tiles grid(T) block(256) args(in0, sums, out0, N)

// Sum of all threads before this one; `total` becomes the block's.
__device__ int before_me(int mine, int& total) {
  __shared__ int of_warps[8];
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int upto = mine;
  for (int d = 1; d < 32; d *= 2) {
    const int other = __shfl_up_sync(~0u, upto, d);
    if (lane >= d) upto += other;
  }
  if (lane == 31) of_warps[warp] = upto;
  __syncthreads();
  int before = 0;
  total = 0;
  for (int w = 0; w < 8; ++w) {
    if (w < warp) before += of_warps[w];
    total += of_warps[w];
  }
  __syncthreads();  // of_warps may be written again
  return before + upto - mine;
}

extern "C" __global__ __launch_bounds__(256) void reduce(const int* x, int* sums, int n) {
  int mine = 0, total;
  for (int j = 0; j < 4; ++j) {
    const int i = blockIdx.x * 1024 + j * 256 + threadIdx.x;
    if (i < n) mine += x[i];
  }
  before_me(mine, total);
  if (threadIdx.x == 0) sums[blockIdx.x] = total;
}

extern "C" __global__ __launch_bounds__(256) void scan_sums(int* sums, int tiles) {  // exclusive, in place
  int carried = 0;
  for (int start = 0; start < tiles; start += 256) {
    const int i = start + threadIdx.x, mine = i < tiles ? sums[i] : 0;
    int total;
    const int before = before_me(mine, total);
    if (i < tiles) sums[i] = carried + before;
    carried += total;
  }
}

extern "C" __global__ __launch_bounds__(256) void scan_tiles(const int* x, const int* sums, int* y, int n) {
  int held[4], mine = 0, total;
  const int first = blockIdx.x * 1024 + 4 * threadIdx.x;
  for (int j = 0; j < 4; ++j) mine += held[j] = first + j < n ? x[first + j] : 0;
  int sum = sums[blockIdx.x] + before_me(mine, total);
  for (int j = 0; j < 4; ++j)
    if (first + j < n) y[first + j] = sum += held[j];
}
