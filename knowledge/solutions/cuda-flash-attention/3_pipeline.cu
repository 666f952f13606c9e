// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_pipeline.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_pipeline.cu --device emulated --set heads=1 --set tokens=128
// Two stages by cp.async (LDGSTS): the next 64 keys and values travel while these are multiplied, and one barrier a tile
// remains. Blocks of late queries have the most tiles: they get the low numbers and start first, so that the grid does not
// end with a few long blocks alone.
// shows: HMMA.16816.F32 LDSM.16.M88.4 LDSM.16.MT88.4 MUFU.EX2 LDGSTS.E.BYPASS.128
// language: cuda
// axes: T = in0[2], BH = in0[0] * in0[1]
// dtypes: in0 = float16, in1 = float16, in2 = float16, out0 = float16
// require: numel(in1) == numel(in0), numel(in2) == numel(in0)
// require: in0[3] == 64, T % 64 == 0, BH <= 65535
// launch: attend grid(T // 64, BH) block(128) args(in0, in1, in2, out0, T)
#include <cuda_fp16.h>
#ifndef INFINITY  // NVRTC has no math.h
#define INFINITY __int_as_float(0x7f800000)
#endif

__device__ void mma(float (&d)[4], const unsigned (&a)[4], unsigned b0, unsigned b1) {  // 16 x 8 outputs, 16 deep
  asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
               "{%8, %9}, {%0, %1, %2, %3};"
               : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
               : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ void load_matrices(unsigned (&r)[4], const __half* row) {  // four 8 x 8 tiles; lane i names a row of tile i / 8
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((unsigned)__cvta_generic_to_shared(row)));
}

__device__ void load_turned(unsigned (&r)[4], const __half* row) {  // the same, each tile transposed
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(r[0]), "=r"(r[1]), "=r"(r[2]), "=r"(r[3]) : "r"((unsigned)__cvta_generic_to_shared(row)));
}

__device__ unsigned pack(float low, float high) {
  const __half2 both = __floats2half2_rn(low, high);
  return *reinterpret_cast<const unsigned*>(&both);
}

__device__ int at(int row, int piece) { return row * 64 + (piece ^ (row % 8)) * 8; }  // in halves; no bank conflicts

// One tile of 64 keys for the 16 queries of a warp: scores, their online softmax, the product with values.
__device__ void step(float (&out)[8][4], float (&top)[2], float (&sum)[2], const unsigned (&q)[4][4], const __half* tk,
                     const __half* tv, int query0, int key0, bool diagonal) {
  const int lane = threadIdx.x % 32, group = lane / 4, pair = lane % 4;
  float score[8][4] = {};
#pragma unroll
  for (int d = 0; d < 4; ++d)
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      unsigned b[4];
      load_matrices(b, &tk[at(16 * n + lane / 16 * 8 + lane % 8, 2 * d + lane / 8 % 2)]);
      mma(score[2 * n], q[d], b[0], b[1]);
      mma(score[2 * n + 1], q[d], b[2], b[3]);
    }
  if (diagonal)  // only here are there keys behind a query
#pragma unroll
    for (int n = 0; n < 8; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e)
        if (key0 + 8 * n + 2 * pair + e % 2 > query0 + group + e / 2 * 8) score[n][e] = -INFINITY;
  constexpr float SCALE = 0.125f * 1.4426950408889634f;  // 1 / sqrt(64), and exp2 instead of exp
#pragma unroll
  for (int h = 0; h < 2; ++h) {  // the two rows of a lane: group and group + 8
    float larger = top[h];
#pragma unroll
    for (int n = 0; n < 8; ++n) larger = fmaxf(larger, fmaxf(score[n][2 * h], score[n][2 * h + 1]));
    for (int d = 1; d < 4; d *= 2) larger = fmaxf(larger, __shfl_xor_sync(~0u, larger, d));
    const float shrink = exp2f((top[h] - larger) * SCALE);
    float part = 0;
#pragma unroll
    for (int n = 0; n < 8; ++n) {
      part += score[n][2 * h] = exp2f((score[n][2 * h] - larger) * SCALE);
      part += score[n][2 * h + 1] = exp2f((score[n][2 * h + 1] - larger) * SCALE);
      out[n][2 * h] *= shrink;
      out[n][2 * h + 1] *= shrink;
    }
    sum[h] = sum[h] * shrink + part;  // of this lane's columns only; lanes are joined at the end
    top[h] = larger;
  }
#pragma unroll
  for (int s = 0; s < 4; ++s) {  // 16 keys each: scores lie as the left operand wants them
    const unsigned a[4] = {pack(score[2 * s][0], score[2 * s][1]), pack(score[2 * s][2], score[2 * s][3]),
                           pack(score[2 * s + 1][0], score[2 * s + 1][1]), pack(score[2 * s + 1][2], score[2 * s + 1][3])};
#pragma unroll
    for (int n = 0; n < 4; ++n) {
      unsigned b[4];
      load_turned(b, &tv[at(16 * s + lane % 16, 2 * n + lane / 16)]);
      mma(out[2 * n], a, b[0], b[1]);
      mma(out[2 * n + 1], a, b[2], b[3]);
    }
  }
}

__device__ void load_queries(unsigned (&q)[4][4], const __half* from) {  // of this warp: 16 rows
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int d = 0; d < 4; ++d)
#pragma unroll
    for (int j = 0; j < 4; ++j)
      q[d][j] = *reinterpret_cast<const unsigned*>(from + (lane / 4 + j % 2 * 8) * 64 + 16 * d + lane % 4 * 2 + j / 2 * 8);
}

__device__ void store(__half* to, const float (&out)[8][4], const float (&sum)[2]) {
  const int lane = threadIdx.x % 32;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    float all = sum[h];
    for (int d = 1; d < 4; d *= 2) all += __shfl_xor_sync(~0u, all, d);
#pragma unroll
    for (int n = 0; n < 8; ++n)
      *reinterpret_cast<__half2*>(to + (lane / 4 + 8 * h) * 64 + 8 * n + lane % 4 * 2) =
          __floats2half2_rn(out[n][2 * h] / all, out[n][2 * h + 1] / all);
  }
}

__device__ void copy16(__half* to, const __half* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"((unsigned)__cvta_generic_to_shared(to)), "l"(from)
               : "memory");
}

extern "C" __global__ __launch_bounds__(128) void attend(const __half* q, const __half* k, const __half* v, __half* o,
                                                         int tokens) {
  __shared__ __align__(128) __half tk[2][64 * 64], tv[2][64 * 64];
  const int block = gridDim.x - 1 - blockIdx.x, query0 = block * 64 + threadIdx.x / 32 * 16;
  const size_t head = (size_t)blockIdx.y * tokens * 64;
  auto fetch = [&](int tile) {
    const size_t from = head + (size_t)tile * 64 * 64;
#pragma unroll
    for (int i = threadIdx.x; i < 512; i += 128) {
      copy16(&tk[tile % 2][at(i / 8, i % 8)], k + from + i * 8);
      copy16(&tv[tile % 2][at(i / 8, i % 8)], v + from + i * 8);
    }
  };
  fetch(0);
  unsigned held[4][4];
  load_queries(held, q + head + (size_t)query0 * 64);
  float out[8][4] = {}, top[2] = {-INFINITY, -INFINITY}, sum[2] = {};
  for (int tile = 0; tile <= block; ++tile) {
    asm volatile("cp.async.wait_all;" ::: "memory");
    __syncthreads();  // this tile has come for all, and nobody reads the other stage any more
    if (tile < block) fetch(tile + 1);
    step(out, top, sum, held, tk[tile % 2], tv[tile % 2], query0, tile * 64, tile == block);
  }
  store(o + head + (size_t)query0 * 64, out, sum);
}
