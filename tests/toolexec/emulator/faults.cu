// Broken kernels, one a number; `// fault: KIND` marks the line that a report has to name. Launched by scalar 0.
#include "kernelwright.h"
#include <cuda_fp16.h>
#include <cuda_pipeline.h>
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda/atomic>
#include <cuda/barrier>
#include <mma.h>
#include <cassert>
namespace cg = cooperative_groups;

__global__ void k0(const float* in, float* out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];  // fault: out of bounds
}
__global__ void k1(const float* in, float* out, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x + 1] = in[threadIdx.x];  // fault: out of bounds
  __syncthreads();
  out[threadIdx.x] = tile[threadIdx.x + 1];
}
__global__ void k2(const float* in, float* out, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  out[threadIdx.x] = tile[63 - threadIdx.x];  // fault: uninitialised race
}
__global__ void k3(const float* in, float* out, int n) {
  __shared__ float tile[64];
  for (int round = 0; round < 3; round++) {
    tile[threadIdx.x] = in[threadIdx.x] + round;  // fault: race
    __syncthreads();
    out[threadIdx.x] = tile[63 - threadIdx.x];
  }
}
__global__ void k4(const float* in, float* out, int n) {
  if (threadIdx.x < 32) {
    __syncthreads();  // fault: barrier divergence
  }
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void k5(const float* in, float* out, int n) {
  if (threadIdx.x % 2)
    __syncthreads();  // fault: barrier divergence
  else
    __syncthreads();  // fault: barrier divergence
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void k6(const float* in, float* out, int n) {
  float4 v = *reinterpret_cast<const float4*>(in + 1 + 4 * threadIdx.x);  // fault: misaligned
  out[threadIdx.x] = v.x + v.w;
}
__global__ void k7(const float* in, float* out, int n) {
  float v = in[threadIdx.x];
  if (threadIdx.x % 32 < 16) v += __shfl_down_sync(0xffffffffu, v, 8);  // fault: deadlock wrong mask
  __syncthreads();
  out[threadIdx.x] = v;
}
__global__ void k8(const float* in, float* out, int n) {
  float v = in[threadIdx.x];
  v += __shfl_xor_sync(0x0000ffffu, v, 1);  // fault: wrong mask
  out[threadIdx.x] = v;
}
__global__ void k9(const float* in, float* out, int n) {
  __shared__ float tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, 4);
  __pipeline_commit();
  out[threadIdx.x] = tile[threadIdx.x];  // fault: pending copy
  __pipeline_wait_prior(0);
}
__global__ void k10(const float* in, float* out, int n) {
  out[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];  // fault: race
}
__global__ void k11(const float* in, float* out, int n) {
  __shared__ int count;
  if (threadIdx.x == 0) count = 0;
  __syncthreads();
  count += 1;  // fault: race
  __syncthreads();
  out[threadIdx.x] = count;
}
__global__ void k12(const float* in, float* out, int n) {
  extern __shared__ float dynamic[];
  dynamic[threadIdx.x] = in[threadIdx.x];  // fault: out of bounds
  out[threadIdx.x] = dynamic[threadIdx.x];
}
__global__ void k13(const float* in, float* out, int n) {
  out[threadIdx.x] += in[threadIdx.x];  // fault: uninitialised
}
__global__ void k14(const float* in, float* out, int n) {
  assert(threadIdx.x < 40);  // fault: assertion
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void k15(const float* in, float* out, int n) {
  __shared__ float tile[64];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  for (int d = 32; d > 0; d /= 2) {
    if (threadIdx.x < d) tile[threadIdx.x] += tile[threadIdx.x + d];  // fault: race
  }
  if (threadIdx.x == 0) out[0] = tile[0];
}
__global__ void k16(const float* in, float* out, int n) {
  if (threadIdx.x < 32) __barrier_sync_count(1, 64);  // fault: deadlock
  else __barrier_sync_count(2, 64);  // fault: deadlock
}
__global__ void k17(const float* in, float* out, int n) {
  __shared__ __half tile[64];
  tile[threadIdx.x] = __float2half(in[threadIdx.x]);
  out[threadIdx.x] = __half2float(tile[threadIdx.x ^ 1]);  // fault: race uninitialised
}
__global__ void k18(const float* in, float* out, int n) {
  __shared__ float tile[64];
  __pipeline_memcpy_async(&tile[threadIdx.x], in + threadIdx.x, 4);
  __pipeline_commit();
  __pipeline_wait_prior(0);
  out[threadIdx.x] = tile[threadIdx.x ^ 32];  // fault: uninitialised race
}
__device__ unsigned tickets;
__global__ void k19(const float* in, float* out, int n) {
  __shared__ bool last;
  if (threadIdx.x == 0) {
    out[blockIdx.x] = in[blockIdx.x];
    last = atomicAdd(&tickets, 1u) == gridDim.x - 1;  // no __threadfence before it
  }
  __syncthreads();
  if (last && threadIdx.x == 0) {
    tickets = 0;
    float sum = 0;
    for (unsigned b = 0; b < gridDim.x; b++) sum += out[b];  // fault: race
    out[0] = sum;
  }
}
__device__ int never;
__global__ void k20(const float* in, float* out, int n) {
  if (threadIdx.x == 0)
    while (atomicAdd(&never, 0) == 0) {}  // fault: deadlock
  __syncthreads();
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void k21(const float* in, float* out, int n) {
  if (threadIdx.x < 32) __barrier_sync_count(1, 64);  // fault: deadlock
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void k22(const float* in, float* out, int n) {
  if (threadIdx.x >= 44) return;
  auto tile = cg::tiled_partition<8>(cg::this_thread_block());
  out[threadIdx.x] = cg::reduce(tile, in[threadIdx.x], cg::plus<float>());  // fault: wrong mask
}
__global__ void k23(const float* in, float* out, int n) {
  __shared__ cuda::barrier<cuda::thread_scope_block> all;
  if (threadIdx.x == 0) init(&all, 64);
  all.arrive_and_wait();  // fault: race uninitialised
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void k24(const float* in, float* out, int n) {
  __shared__ cuda::barrier<cuda::thread_scope_block> all;
  if (threadIdx.x == 0) init(&all, 65);
  __syncthreads();
  all.arrive_and_wait();  // fault: deadlock
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void k25(const float* in, float* out, int n) {
  __shared__ cuda::barrier<cuda::thread_scope_block> all;
  __shared__ alignas(16) float tile[64];
  if (threadIdx.x == 0) init(&all, 64);
  __syncthreads();
  cuda::memcpy_async(cg::this_thread_block(), tile, in, sizeof tile, all);
  auto token = all.arrive();
  out[threadIdx.x] = tile[threadIdx.x];  // fault: pending copy uninitialised
  all.wait(std::move(token));
}
__global__ void k26(const float* in, float* out, int n) {
  __shared__ cuda::barrier<cuda::thread_scope_block> all;
  __shared__ float tile[64];
  if (threadIdx.x == 0) init(&all, 64);
  __syncthreads();
  tile[threadIdx.x] = in[threadIdx.x];
  auto token = all.arrive();
  out[threadIdx.x] = tile[63 - threadIdx.x];  // fault: race uninitialised
  all.wait(std::move(token));
}
__global__ void k27(const float* in, float* out, int n) {
  cg::this_grid().sync();  // fault: launch
}
__global__ void k28(const float* in, float* out, int n) {
  if (blockIdx.x == 1) return;
  cg::this_grid().sync();  // fault: deadlock
}
__global__ void k29(const float* in, float* out, int n) {
  __shared__ alignas(32) __half a[16 * 16 + 1];
  for (int i = threadIdx.x; i < 257; i += 64) a[i] = __half(1.0f);
  __syncthreads();
  nvcuda::wmma::fragment<nvcuda::wmma::matrix_a, 16, 16, 16, __half, nvcuda::wmma::row_major> f;
  nvcuda::wmma::load_matrix_sync(f, a + 1, 16);  // fault: misaligned
}
__global__ void k30(const float* in, float* out, int n) {
  __shared__ int bins[2];
  if (threadIdx.x < 2) bins[threadIdx.x] = 0;
  __syncthreads();
  atomicAdd(&bins[threadIdx.x & 1], 1);
  out[threadIdx.x] = bins[threadIdx.x & 1];  // fault: race
}
__global__ void k31(const float* in, float* out, int n) {
  if (threadIdx.x < 3) __syncwarp(threadIdx.x == 0 ? 3 : threadIdx.x == 1 ? 6 : 5);  // fault: wrong mask
  out[threadIdx.x] = in[threadIdx.x];
}
__global__ void k32(const float* in, float* out, int n) {
  __shared__ int* pointers[2];
  __shared__ float row[64], (*rows)[8];
  row[threadIdx.x] = in[threadIdx.x];
  if (threadIdx.x == 0) rows = reinterpret_cast<float (*)[8]>(row), pointers[0] = nullptr;
  __syncthreads();
  out[threadIdx.x] = rows[8][threadIdx.x % 8];  // fault: out of bounds
}
__device__ unsigned near_count, near_flag, far_count, counts[1];
__device__ float message[3];
__device__ cuda::atomic<int, cuda::thread_scope_device> relaxed_store{0}, relaxed_load{0}, never_set{0};
__global__ void k33(const float* in, float* out, int n) {
  if (threadIdx.x == 0) atomicAdd_block(&near_count, 1u);  // fault: race
  if (blockIdx.x == 0) out[threadIdx.x] = 1;
}
__global__ void k34(const float* in, float* out, int n) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) message[0] = 1, relaxed_store.store(1, cuda::memory_order_relaxed);
    return;
  }
  while (relaxed_store.load(cuda::memory_order_acquire) == 0) {}
  out[threadIdx.x] = message[0];  // fault: race
}
__global__ void k35(const float* in, float* out, int n) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) message[1] = 1, relaxed_load.store(1, cuda::memory_order_release);
    return;
  }
  while (relaxed_load.load(cuda::memory_order_relaxed) == 0) {}
  out[threadIdx.x] = message[1];  // fault: race
}
__global__ void k36(const float* in, float* out, int n) {
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      message[2] = 1;
      __threadfence_block();  // of too small a scope
      atomicExch(&near_flag, 1u);
    }
    return;
  }
  while (atomicAdd(&near_flag, 0u) == 0) {}
  out[threadIdx.x] = message[2];  // fault: race
}
__global__ void k37(const float* in, float* out, int n) {
  cuda::atomic_ref<unsigned, cuda::thread_scope_block> mine(far_count);
  mine.fetch_add(1, cuda::memory_order_relaxed);  // fault: race
}
__global__ void k38(const float* in, float* out, int n) {
  auto& pair = *reinterpret_cast<unsigned long long*>(out + 1);  // fault: misaligned
  cuda::atomic_ref<unsigned long long>(pair).store(1);  // fault: misaligned
}
__global__ void k39(const float* in, float* out, int n) {
  never_set.wait(0);  // fault: deadlock
}
__global__ void k40(const float* in, float* out, int n) {
  __shared__ cuda::atomic<int, cuda::thread_scope_block> count;
  count.fetch_add(1);  // fault: uninitialised
}
__global__ void k41(const float* in, float* out, int n) {
  if (blockIdx.x == 0) {
    unsigned old;
    asm volatile("atom.acq_rel.cta.global.add.u32 %0, [%1], 1;" : "=r"(old) : "l"(counts) : "memory");
  } else {
    atomicAdd(counts, 1u);  // fault: race
  }
}
__device__ float first_row[64];
__device__ __align__(16) float second_row[64] = {1};
__global__ void k42(const float* in, float* out, int n) {
  first_row[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = first_row[threadIdx.x + 1] + second_row[threadIdx.x];  // fault: out of bounds
}
__global__ void k43(const float* in, float* out, int n) {
  float4 v = __ldg(reinterpret_cast<const float4*>(in + 2) + threadIdx.x);  // fault: misaligned
  out[threadIdx.x] = v.x;
}
__global__ void k44(const float* in, float* out, int n) {
  float x, y;
  asm volatile("ld.global.v2.f32 {%0, %1}, [%2];" : "=f"(x), "=f"(y) : "l"(in + 1 + threadIdx.x));  // fault: misaligned
  out[threadIdx.x] = x + y;
}
__global__ void k45(const float* in, float* out, int n) {
  if (threadIdx.x < 8) __stcs(reinterpret_cast<float2*>(out + 1) + threadIdx.x, make_float2(1, 2));  // fault: misaligned
}
__global__ void k46(const float* in, float* out, int n) {
  if (threadIdx.x == 3) k13<<<1, 1>>>(in, out, n);  // fault: unsupported
}
typedef void (*kernel)(const float*, float*, int);
const kernel kernels[] = {k0, k1, k2, k3, k4, k5, k6, k7, k8, k9, k10, k11, k12, k13, k14, k15, k16, k17, k18, k19,
                          k20, k21, k22, k23, k24, k25, k26, k27, k28, k29,
                          k30, k31, k32, k33, k34, k35, k36, k37, k38, k39, k40, k41, k42, k43, k44, k45, k46};

int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* scalars, kw_workspace*, kw_stream stream) {
  int which = int(scalars[0].i), n = int(out[0].shape[0]);
  if (which == 28) {
    const float* a = (const float*)in[0].data;
    float* o = (float*)out[0].data;
    void* args[] = {&a, &o, &n};
    return cudaLaunchCooperativeKernel((const void*)k28, dim3(2), dim3(64), args, 0, (cudaStream_t)stream);
  }
  kernels[which]<<<which == 10 || which == 19 || which >= 33 && which < 42 ? 2 : which == 0 ? n / 64 + 1 : 1, 64, which == 12 ? 32 * 4 : 0, (cudaStream_t)stream>>>(
      (const float*)in[0].data, (float*)out[0].data, n);
  return cudaGetLastError();
}
