// nvcc -std=c++17 -O3 -arch=sm_89 -cubin 3_fp8_tensor_cores.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_fp8_tensor_cores.cu --device emulated --set rows=64 --set depth=64 --set features=64
// Tensor cores that take e4m3: mma.sync m16n8k32 (QMMA on Ada and consumer Blackwell) does in one instruction what took two
// HMMA and 12 conversions of registers. Bytes lie in the fragment as int8 ones do. Hopper compiles it to conversions and HMMA
// again: there the fp8 rate needs wgmma. All else is 2_widened.cu.
// shows sm_89: QMMA.16832.F32.E4M3.E4M3
// shows sm_120: QMMA.16832.F32.E4M3.E4M3
// shows sm_90a: HMMA.16816.F32 F2FP.F16.E4M3
// shows: LDSM.16.M88.4 LDGSTS.E.BYPASS.128
// language: cuda
// architectures: sm_89, sm_90a, sm_120
// axes: M = in0[0], K = in0[1], N = in1[0]
// dtypes: in0 = uint8, in1 = uint8, in2 = float32, in3 = float32, out0 = float32
// require: numel(in0) == M * K, numel(in1) == N * K, numel(in2) == M, numel(in3) == N
// require: M % 64 == 0, N % 64 == 0, K % 64 == 0
// launch: product grid(N // 64, M // 64) block(128) args(in0, in1, in2, in3, out0, N, K)

__device__ void copy16(char* to, const char* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
}

__device__ void load_matrices(unsigned (&r)[4], const char* row) {  // four tiles of 8 rows of 16 bytes
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3])
               : "r"((unsigned)__cvta_generic_to_shared(row)));
}

__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {  // 16 x 8 outputs, 32 deep
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
               "{%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ int at(int row, int piece) { return row * 64 + (piece ^ (row / 2 % 4)) * 16; }

extern "C" __global__ __launch_bounds__(128) void product(const char* x, const char* w, const float* sx, const float* sw,
                                                          float* y, int n, int k) {
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
  float sum[2][4][4] = {};
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
        *reinterpret_cast<float2*>(y + (size_t)row * n + col) =
            make_float2(sum[i][j][2 * h] * sx[row] * sw[col], sum[i][j][2 * h + 1] * sx[row] * sw[col + 1]);
      }
}
