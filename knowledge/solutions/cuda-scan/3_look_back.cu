// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_look_back.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_look_back.cu --device emulated --set elements=3000
// Decoupled look-back: a tile publishes its own sum at once and its whole prefix when it knows it. A warp looks at the 32
// tiles before it in one go: it adds published sums back to the nearest published prefix. No tile waits for a chain of others,
// only for sums that need nothing but their own tile. State and value travel in one 64-bit word, so no fence lies between.
// shows: LDG.E SHFL.UP SHFL.BFLY VOTE ATOMG STG.E.128
// language: cuda
// axes: N = in0[0], T = cdiv(N, 1024)
// dtypes: in0 = int32, out0 = int32
// require: numel(in0) == N
// require: N % 4 == 0
// scratch: words = int64[1 + T]
// launch: clear grid(cdiv(1 + T, 256)) block(256) args(words, 1 + T)
// launch: scan grid(T) block(256) args(in0, out0, words, N)

using Word = unsigned long long;  // state << 32 | sum; states: 0 nothing yet, 1 the tile's own sum, 2 all up to and with it

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

__device__ void publish(Word* word, int state, int sum) { atomicExch(word, (Word)state << 32 | (unsigned)sum); }

// The sum of all tiles before `tile`, by one whole warp.
__device__ int look_back(Word* tiles, int tile) {
  int sum = 0;
  for (int nearest = tile - 1; nearest >= 0; nearest -= 32) {
    const int at = nearest - (int)threadIdx.x;  // lane 0 looks at the nearest
    Word word = (Word)2 << 32;                  // before the first tile: a prefix of nothing
    if (at >= 0)
      while ((word = atomicAdd(&tiles[at], 0ull)) >> 32 == 0) __nanosleep(20);
    __syncwarp();
    const unsigned prefixes = __ballot_sync(~0u, word >> 32 == 2);
    const int last = prefixes ? __ffs(prefixes) - 1 : 31;  // lanes up to the nearest prefix count
    int part = (int)threadIdx.x <= last ? (int)word : 0;
    for (int d = 16; d > 0; d /= 2) part += __shfl_xor_sync(~0u, part, d);
    sum += part;
    if (prefixes) break;
  }
  return sum;
}

extern "C" __global__ __launch_bounds__(256) void clear(Word* words, int n) {
  const int i = blockIdx.x * 256 + threadIdx.x;
  if (i < n) words[i] = 0;
}

extern "C" __global__ __launch_bounds__(256) void scan(const int* x, int* y, Word* words, int n) {
  __shared__ int ticket, carried;
  if (threadIdx.x == 0) ticket = (int)atomicAdd(words, 1ull);  // in the order of starting: predecessors have started
  __syncthreads();
  Word* tiles = words + 1;
  const int tile = ticket, first = tile * 1024 + 4 * threadIdx.x;
  const int4 v = first < n ? *reinterpret_cast<const int4*>(x + first) : make_int4(0, 0, 0, 0);
  int total;
  const int before = before_me(v.x + v.y + v.z + v.w, total);
  if (threadIdx.x < 32) {
    if (threadIdx.x == 0) publish(&tiles[tile], tile ? 1 : 2, total);
    const int all = look_back(tiles, tile);
    if (threadIdx.x == 0) {
      if (tile) publish(&tiles[tile], 2, all + total);
      carried = all;
    }
  }
  __syncthreads();
  const int s = carried + before;
  if (first < n)
    *reinterpret_cast<int4*>(y + first) = make_int4(s + v.x, s + v.x + v.y, s + v.x + v.y + v.z, s + v.x + v.y + v.z + v.w);
}
