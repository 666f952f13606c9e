// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_tensor_cores.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_tensor_cores.cu --device emulated --set rows=64 --set depth=64 --set features=64
// Tensor cores: mma.sync m16n8k32 on int8 (IMMA), 4096 multiply-adds an instruction. 64 x 64 outputs a block of four warps.
// ldmatrix moves pairs of bytes as if they were halves: an int8 tile of 32 columns is an ldmatrix tile of 16. The 16-byte
// piece c of a row of 64 bytes lies at piece c ^ (row / 2 % 4): no bank conflicts. The next tile comes by cp.async meanwhile.
// shows: IMMA.16832.S8.S8 LDSM.16.M88.4 LDGSTS.E.BYPASS.128
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = int8, in1 = int8, out0 = int32
// require: numel(in0) == M * K, numel(in1) == N * K
// require: M % 64 == 0, N % 64 == 0, K % 64 == 0
// launch: product grid(N // 64, M // 64) block(128) args(in0, in1, out0, N, K)

__device__ void copy16(char* to, const char* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
}

__device__ void load_matrices(unsigned (&r)[4], const char* row) {  // four tiles of 8 rows of 16 bytes
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(row)));
}

__device__ void mma(int (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {  // 16 x 8 outputs, 32 deep
  asm volatile("mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
               "{%8, %9}, {%0, %1, %2, %3};"
               : "+r"(d[0]), "+r"(d[1]), "+r"(d[2]), "+r"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ int at(int row, int piece) { return row * 64 + (piece ^ (row / 2 % 4)) * 16; }

extern "C" __global__ __launch_bounds__(128) void product(const char* x, const char* w, int* y, int n, int k) {
  __shared__ __align__(128) char tx[2][64 * 64], tw[2][64 * 64];
  const int me = threadIdx.x, warp = me / 32, lane = me % 32, wm = warp / 2 * 32, wn = warp % 2 * 32;
  const char* from_x = x + (size_t)blockIdx.y * 64 * k;
  const char* from_w = w + (size_t)blockIdx.x * 64 * k;
  auto fetch = [&](int stage, int k0) {
    if (k0 < k)
#pragma unroll
      for (int i = me; i < 256; i += 128) {
        copy16(&tx[stage][at(i / 4, i % 4)], from_x + (size_t)(i / 4) * k + k0 + i % 4 * 16);
        copy16(&tw[stage][at(i / 4, i % 4)], from_w + (size_t)(i / 4) * k + k0 + i % 4 * 16);
      }
    asm volatile("cp.async.commit_group;" ::: "memory");
  };
  int sum[2][4][4] = {};
  fetch(0, 0);
  for (int k0 = 0, stage = 0; k0 < k; k0 += 64, stage ^= 1) {
    asm volatile("cp.async.wait_group 0;" ::: "memory");
    __syncthreads();  // this tile has come for all, and nobody reads the other one any more
    fetch(stage ^ 1, k0 + 64);
#pragma unroll
    for (int d = 0; d < 2; ++d) {  // 32 deep each: pieces 2 d and 2 d + 1
      unsigned a[2][4], b[2][4];
#pragma unroll
      for (int i = 0; i < 2; ++i) {
        load_matrices(a[i], &tx[stage][at(wm + 16 * i + lane % 16, 2 * d + lane / 16)]);
        load_matrices(b[i], &tw[stage][at(wn + 16 * i + lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2)]);
      }
#pragma unroll
      for (int i = 0; i < 2; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j) mma(sum[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
    }
  }
#pragma unroll
  for (int i = 0; i < 2; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = blockIdx.y * 64 + wm + 16 * i + lane / 4 + 8 * h, col = blockIdx.x * 64 + wn + 8 * j + lane % 4 * 2;
        *reinterpret_cast<int2*>(y + (size_t)row * n + col) = make_int2(sum[i][j][2 * h], sum[i][j][2 * h + 1]);
      }
}
