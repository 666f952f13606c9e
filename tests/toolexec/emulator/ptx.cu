// Hand-written PTX: each number is a kernel; test_ptx.py knows what it must give.
#include "kernelwright.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

__device__ __forceinline__ unsigned address(const void* p) { return (unsigned)__cvta_generic_to_shared(p); }

// One warp: D[16][8] = A[16][16] B[16][8], A by ldmatrix, B by ldmatrix.trans, through cp.async.
__global__ void product(const __half* a, const __half* b, float* d) {
  __shared__ alignas(16) __half as[16][24], bs[16][8];
  int lane = threadIdx.x;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(address(&as[lane / 2][lane % 2 * 8])), "l"(a + lane * 8));
  int first = lane < 16;
  asm volatile(
      "{\n  .reg .pred p;\n  setp.ne.b32 p, %0, 0;\n"
      "  @p cp.async.ca.shared.global [%1], [%2], 16;\n}\n" ::"r"(first), "r"(address(&bs[lane % 16][0])), "l"(b + lane % 16 * 8));
  asm volatile("cp.async.commit_group;\n" ::);
  asm volatile("cp.async.wait_group %0;\n" ::"n"(0));
  __syncwarp();
  unsigned ra[4], rb[2];
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];\n"
               : "=r"(ra[0]), "=r"(ra[1]), "=r"(ra[2]), "=r"(ra[3])
               : "r"(address(&as[lane % 16][lane / 16 * 8])));
  asm volatile("ldmatrix.sync.aligned.x2.trans.m8n8.shared.b16 {%0, %1}, [%2];\n"
               : "=r"(rb[0]), "=r"(rb[1]) : "r"(address(&bs[lane % 16][0])));
  float c[4] = {0, 0, 0, 0};
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 "
      "{%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(ra[0]), "r"(ra[1]), "r"(ra[2]), "r"(ra[3]), "r"(rb[0]), "r"(rb[1]));
  for (int i = 0; i < 4; i++) d[(lane / 4 + i / 2 * 8) * 8 + lane % 4 * 2 + i % 2] = c[i];
}
// One warp: D[16][8] = A[16][8] B[8][8] in tf32, fragments loaded by hand.
__global__ void product_tf32(const float* a, const float* b, float* d) {
  int g = threadIdx.x / 4, t = threadIdx.x % 4;
  float c0, c1, c2, c3;
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%10,%10,%10,%10};"
      : "=f"(c0), "=f"(c1), "=f"(c2), "=f"(c3)
      : "r"(__float_as_uint(a[g * 8 + t])), "r"(__float_as_uint(a[(g + 8) * 8 + t])), "r"(__float_as_uint(a[g * 8 + t + 4])),
        "r"(__float_as_uint(a[(g + 8) * 8 + t + 4])), "r"(__float_as_uint(b[t * 8 + g])), "r"(__float_as_uint(b[(t + 4) * 8 + g])), "f"(0.0f));
  float4 v;
  asm volatile("ld.global.nc.v4.f32 {%0, %1, %2, %3}, [%4];" : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w) : "l"(a));
  d[g * 8 + t * 2] = c0 + (v.x - a[0]);
  d[g * 8 + t * 2 + 1] = c1;
  d[(g + 8) * 8 + t * 2] = c2;
  d[(g + 8) * 8 + t * 2 + 1] = c3;
}
int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* s, kw_workspace*, kw_stream stream) {
  if (s[0].i == 0) product<<<1, 32, 0, (cudaStream_t)stream>>>((const __half*)in[0].data, (const __half*)in[1].data, (float*)out[0].data);
  if (s[0].i == 1) product_tf32<<<1, 32>>>((const float*)in[0].data, (const float*)in[1].data, (float*)out[0].data);
  return cudaGetLastError();
}
