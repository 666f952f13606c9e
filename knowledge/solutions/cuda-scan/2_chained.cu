// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_chained.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_chained.cu --device emulated --set elements=3000
// One pass: each tile waits for the sum of all before it, adds its own and hands it on. The vector is read once. Tiles draw
// their numbers from a counter, so that a tile's predecessor has always started: no deadlock, whatever the order of blocks.
// But the sums pass from tile to tile one after the other, a round trip through the L2 each.
// shows: LDG.E SHFL.UP ATOMG MEMBAR STG.E
// language: cuda
// axes: N = in0[0], T = cdiv(N, 1024)
// dtypes: in0 = int32, out0 = int32
// require: numel(in0) == N
// scratch: state = int32[1 + 2 * T]
// launch: clear grid(cdiv(1 + 2 * T, 256)) block(256) args(state, 1 + 2 * T)
// launch: scan grid(T) block(256) args(in0, out0, state, T, N)

__device__ int before_me(int mine, int& total) {  // sum of all threads before this one, and the block's
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
  return before + upto - mine;
}

extern "C" __global__ __launch_bounds__(256) void clear(int* state, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) state[i] = 0;
}

// state: a ticket, then a flag a tile, then the sum up to and with a tile
extern "C" __global__ __launch_bounds__(256) void scan(const int* x, int* y, int* state, int tiles, int n) {
  __shared__ int ticket, carried;
  int* flags = state + 1;
  int* upto = flags + tiles;
  if (threadIdx.x == 0) ticket = atomicAdd(state, 1);
  __syncthreads();
  const int tile = ticket, first = tile * 1024 + 4 * threadIdx.x;
  int held[4], mine = 0, total;
  for (int j = 0; j < 4; ++j) mine += held[j] = first + j < n ? x[first + j] : 0;
  const int before = before_me(mine, total);
  if (threadIdx.x == 0) {
    int sum = 0;
    if (tile > 0) {
      while (atomicAdd(&flags[tile - 1], 0) == 0) __nanosleep(20);
      __threadfence();  // the sum was written before the flag
      sum = upto[tile - 1];
    }
    upto[tile] = sum + total;
    __threadfence();
    atomicExch(&flags[tile], 1);
    carried = sum;
  }
  __syncthreads();
  int sum = carried + before;
  for (int j = 0; j < 4; ++j)
    if (first + j < n) y[first + j] = sum += held[j];
}
