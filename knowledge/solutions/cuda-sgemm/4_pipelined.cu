// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 4_pipelined.cu -o k.cubin
// run: kernelwright evaluate reference.py 4_pipelined.cu --device emulated --set m=70 --set k=24 --set n=72
// Three tiles under way by cp.async (LDGSTS): while one is multiplied, two more travel from global to shared memory without
// passing registers, and one barrier a tile remains. b comes 16 bytes at a time and is read as float4 (LDS.128); a is copied
// word by word, turned on the way, so that its eight values of a step lie 16 words apart as before. N must be a multiple
// of 4; what lies outside is filled with zeros by the copy's own size operand.
// shows: LDGSTS.E LDGSTS.E.BYPASS.128 LDS.128 FFMA
// language: cuda
// axes: M = in0[0], K = in0[1], N = in1[1]
// dtypes: in0 = float32, in1 = float32, out0 = float32
// require: numel(in0) == M * K, in1[0] == K
// require: N % 4 == 0
// launch: gemm grid(cdiv(N, 128), cdiv(M, 128)) block(256) args(in0, in1, out0, M, N, K)

constexpr int STAGES = 3, DEEP = 8;

__device__ void copy(float* to, const float* from, bool there) {  // 4 bytes, or zeros
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
               "r"(there ? 4 : 0) : "memory");
}

__device__ void copy4(float* to, const float* from, bool there) {  // 16 bytes, or zeros
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from),
               "r"(there ? 16 : 0) : "memory");
}

extern "C" __global__ __launch_bounds__(256) void gemm(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ __align__(16) float ta[STAGES][DEEP][132], tb[STAGES][DEEP][128];
  const int me = threadIdx.x, tx = me % 16, ty = me / 16, row0 = blockIdx.y * 128, col0 = blockIdx.x * 128;
  auto fetch = [&](int stage, int k0) {
#pragma unroll
    for (int i = me; i < 1024; i += 256) {
      const int r = i / 8, d = i % 8;
      const bool there = row0 + r < m && k0 + d < k;
      copy(&ta[stage][d][r], there ? a + (size_t)(row0 + r) * k + k0 + d : a, there);
    }
    const int d = me / 32, q = me % 32 * 4;
    const bool there = k0 + d < k && col0 + q < n;
    copy4(&tb[stage][d][q], there ? b + (size_t)(k0 + d) * n + col0 + q : b, there);
  };
  float sum[8][8] = {};
  for (int s = 0; s < STAGES - 1; ++s) {
    fetch(s, s * DEEP);
    asm volatile("cp.async.commit_group;" ::: "memory");
  }
  for (int k0 = 0, stage = 0; k0 < k; k0 += DEEP, stage = (stage + 1) % STAGES) {
    asm volatile("cp.async.wait_group %0;" ::"n"(STAGES - 2) : "memory");
    __syncthreads();  // this stage has come for all, and nobody reads the one that is fetched next
    fetch((stage + STAGES - 1) % STAGES, k0 + (STAGES - 1) * DEEP);
    asm volatile("cp.async.commit_group;" ::: "memory");
#pragma unroll
    for (int i = 0; i < DEEP; ++i) {
      float ra[8];
#pragma unroll
      for (int j = 0; j < 8; ++j) ra[j] = ta[stage][i][ty + 16 * j];
      const float4 lo = *reinterpret_cast<const float4*>(&tb[stage][i][4 * tx]);
      const float4 hi = *reinterpret_cast<const float4*>(&tb[stage][i][64 + 4 * tx]);
      const float rb[8] = {lo.x, lo.y, lo.z, lo.w, hi.x, hi.y, hi.z, hi.w};
#pragma unroll
      for (int r = 0; r < 8; ++r)
#pragma unroll
        for (int s = 0; s < 8; ++s) sum[r][s] += ra[r] * rb[s];
    }
  }
#pragma unroll
  for (int r = 0; r < 8; ++r) {
    const int row = row0 + ty + 16 * r;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int col = col0 + 64 * half + 4 * tx;
      const float* s = &sum[r][4 * half];
      if (row < m && col < n) *reinterpret_cast<float4*>(c + (size_t)row * n + col) = make_float4(s[0], s[1], s[2], s[3]);
    }
  }
}
