// Integer kernels for random launches, each with a NumPy model in test_random.py. Scalars: which, grid x y, block x y.
#include "kernelwright.h"

__global__ void mixed(const int* in, int* out, int n) {  // 2D grid and block, grid-stride
  int width = gridDim.x * blockDim.x, height = gridDim.y * blockDim.y;
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  for (int i = y * width + x; i < n; i += width * height) out[i] = (in[i] ^ (i << 3)) * 2654435761u + (in[i] >> 5);
}
__global__ void sums(const int* in, int* out, int n) {  // a tree in shared memory over any block size
  extern __shared__ int part[];
  int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  int block = blockIdx.y * gridDim.x + blockIdx.x, blocks = gridDim.x * gridDim.y;
  unsigned sum = 0;
  for (int i = block * threads + t; i < n; i += blocks * threads) sum += unsigned(in[i]);
  part[t] = int(sum);
  for (int left = threads; left > 1;) {
    int half = (left + 1) / 2;
    __syncthreads();
    if (t + half < left) part[t] = int(unsigned(part[t]) + unsigned(part[t + half]));
    left = half;
  }
  if (t == 0) out[block] = part[0];
}
__global__ void scanned(const int* in, int* out, int n) {  // running maximum of each block's piece, two buffers
  extern __shared__ int both[];
  int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  int i = (blockIdx.y * gridDim.x + blockIdx.x) * threads + t;
  int *from = both, *to = both + threads;
  from[t] = i < n ? in[i] : INT_MIN;
  __syncthreads();
  for (int d = 1; d < threads; d *= 2) {
    to[t] = t >= d ? max(from[t], from[t - d]) : from[t];
    int* other = from;
    from = to;
    to = other;
    __syncthreads();
  }
  if (i < n) out[i] = from[t];
}
__global__ void counted(const int* in, int* out, int n) {  // histogram by atomics, shared then global
  __shared__ unsigned bins[16];
  int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  int block = blockIdx.y * gridDim.x + blockIdx.x, blocks = gridDim.x * gridDim.y;
  for (int b = t; b < 16; b += threads) bins[b] = 0;
  __syncthreads();
  for (int i = block * threads + t; i < n; i += blocks * threads) atomicAdd(&bins[in[i] & 15], 1u);
  __syncthreads();
  for (int b = t; b < 16; b += threads) atomicAdd(&out[b], int(bins[b]));
}
__global__ void warped(const int* in, int* out, int n) {  // sums of what is left of each warp, by votes and shuffles
  int t = threadIdx.y * blockDim.x + threadIdx.x, threads = blockDim.x * blockDim.y;
  int i = (blockIdx.y * gridDim.x + blockIdx.x) * threads + t;
  unsigned mask = __ballot_sync(0xffffffffu, i < n);
  if (i < n) {
    unsigned v = unsigned(in[i]), sum = 0;
    for (int lane = 0; lane < 32; lane++)
      if (mask >> lane & 1) sum += __shfl_sync(mask, v, lane) * unsigned(lane + 1);
    out[i] = int(sum + (__match_any_sync(mask, in[i] & 3) & 0xffffu));
  }
}
__global__ void turned(const int* in, int* out, int rows, int cols) {  // transpose through a padded tile
  extern __shared__ int tile[];
  int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y, pitch = blockDim.x + 1;
  if (x < cols && y < rows) tile[threadIdx.y * pitch + threadIdx.x] = in[y * cols + x];
  __syncthreads();
  int t = threadIdx.y * blockDim.x + threadIdx.x, tx = t % blockDim.y, ty = t / blockDim.y;
  int r = blockIdx.y * blockDim.y + tx, c = blockIdx.x * blockDim.x + ty;
  if (r < rows && c < cols) out[c * rows + r] = tile[tx * pitch + ty];
}

int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* s, kw_workspace*, kw_stream stream) {
  const int* a = (const int*)in[0].data;
  int *o = (int*)out[0].data, n = 1;
  for (int d = 0; d < in[0].ndim; d++) n *= int(in[0].shape[d]);
  dim3 grid(s[1].i, s[2].i), block(s[3].i, s[4].i);
  size_t words = block.x * block.y * sizeof(int);
  cudaStream_t st = (cudaStream_t)stream;
  switch (s[0].i) {
    case 0: mixed<<<grid, block, 0, st>>>(a, o, n); break;
    case 1: sums<<<grid, block, words, st>>>(a, o, n); break;
    case 2: scanned<<<grid, block, 2 * words, st>>>(a, o, n); break;
    case 3: cudaMemsetAsync(o, 0, 64, st); counted<<<grid, block, 0, st>>>(a, o, n); break;
    case 4: warped<<<grid, block, 0, st>>>(a, o, n); break;
    case 5: turned<<<grid, block, (block.x + 1) * block.y * sizeof(int), st>>>(a, o, int(in[0].shape[0]), int(in[0].shape[1])); break;
  }
  return cudaGetLastError();
}
