// Atomics of every order, scope and type; each kernel is right: out is 1 everywhere. Launched by scalar 0.
#include "kernelwright.h"
#include <cuda/atomic>
#include <cuda/std/atomic>
#include <cuda_fp16.h>

__device__ cuda::atomic<int, cuda::thread_scope_device> turn{0};
__device__ cuda::atomic<unsigned, cuda::thread_scope_device> tickets{0u};
__device__ float parts[8];
__device__ int total, words[4];

__global__ void a0(const float* in, float* out, int n) {  // every member, in shared memory
  using Near = cuda::atomic<int, cuda::thread_scope_block>;
  __shared__ Near count, low, high, bits, last, swapped;
  __shared__ cuda::atomic<float, cuda::thread_scope_block> sum;
  __shared__ cuda::atomic<unsigned long long, cuda::thread_scope_block> wide;
  int t = threadIdx.x;
  if (t == 0) {
    count.store(0), low = 100, high.store(-1, cuda::memory_order_relaxed), bits = 0, last.store(0), swapped = 0;
    sum.store(0.0f), wide.store(0ull);
  }
  __syncthreads();
  count.fetch_add(2), count--, ++count, count += 3, count -= 3, count.fetch_sub(1, cuda::std::memory_order_acq_rel);
  low.fetch_min(t + 3, cuda::memory_order_relaxed), high.fetch_max(t), bits.fetch_or(1 << t % 8), bits |= 256, bits.fetch_xor(0);
  last.exchange(t), sum.fetch_add(0.5f), wide.fetch_add(1ull << 33, cuda::std::memory_order_relaxed);
  int seen = swapped.load(cuda::memory_order_relaxed);
  while (!swapped.compare_exchange_weak(seen, seen + 1, cuda::memory_order_acq_rel, cuda::memory_order_relaxed)) {}
  __syncthreads();
  bool fine = count == 64 && low.load() == 3 && high == 63 && bits == 511 && last < 64 && sum == 32.0f && wide == 64ull << 33 && swapped == 64;
  int other = -5;
  fine &= !swapped.compare_exchange_strong(other, 0) && other == 64 && count.is_lock_free() && Near::is_always_lock_free;
  __syncthreads();
  bits.fetch_and(255), bits &= 15;
  __syncthreads();
  out[t] = fine && bits == 15;
}
__global__ void a1(const float* in, float* out, int n) {  // a flag that is released and acquired between blocks
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) parts[0] = in[0], turn.store(1, cuda::memory_order_release), turn.notify_all();
    return;
  }
  if (threadIdx.x == 0) {
    turn.wait(0, cuda::memory_order_acquire);
    parts[1] = parts[0];
  }
  __syncthreads();
  out[threadIdx.x] = parts[1] == in[0];
}
__global__ void a2(const float* in, float* out, int n) {  // the last block reads what the others released
  __shared__ bool last;
  if (threadIdx.x == 0) {
    parts[blockIdx.x] = in[blockIdx.x];
    last = tickets.fetch_add(1u, cuda::memory_order_acq_rel) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  float sum = 0;
  for (int b = 0; b < int(gridDim.x); b++) sum += parts[b] - in[b];
  out[threadIdx.x] = sum == 0;
}
__global__ void a3(const float* in, float* out, int n) {  // relaxed atomics between fences; references to plain objects
  cuda::atomic_ref<int, cuda::thread_scope_device> sum(total), ready(words[0]);
  sum.fetch_add(int(threadIdx.x), cuda::memory_order_relaxed);
  if (blockIdx.x == 0) {
    if (threadIdx.x == 0) {
      words[1] = 7;
      cuda::atomic_thread_fence(cuda::memory_order_release, cuda::thread_scope_device);
      ready.store(1, cuda::memory_order_relaxed);
    }
    return;
  }
  while (ready.load(cuda::memory_order_relaxed) == 0) {}
  cuda::atomic_thread_fence(cuda::memory_order_acquire, cuda::thread_scope_device);
  out[threadIdx.x] = words[1] == 7 && cuda::atomic_ref(total).load() >= 2016;
}
struct alignas(16) Four { int v[4]; };
struct Pair { int key; float value; };
__global__ void a4(const float* in, float* out, int n) {  // structures, pointers, small types, std's names
  __shared__ cuda::std::atomic<Pair> best;
  __shared__ cuda::std::atomic<short> small;
  __shared__ cuda::std::atomic_flag lock;
  __shared__ cuda::atomic<const float*, cuda::thread_scope_block> next;
  __shared__ Four four;
  __shared__ int guarded;
  int t = threadIdx.x;
  if (t == 0) best.store(Pair{-1, 0}), small = 0, lock.clear(), next.store(in), guarded = 0, four = Four{{0, 0, 0, 0}};
  __syncthreads();
  Pair seen = best.load(cuda::std::memory_order_relaxed);
  while (seen.key < t && !best.compare_exchange_weak(seen, Pair{t, in[t]})) {}
  small.fetch_add(1), next += 2, next.fetch_sub(1);
  cuda::atomic_ref<Four, cuda::thread_scope_block>(four).store(Four{{t, t, t, t}});
  for (bool done = false; !done;)
    if (!lock.test_and_set(cuda::std::memory_order_acquire)) {
      guarded += 1;
      lock.clear(cuda::std::memory_order_release);
      done = true;
    }
  __syncthreads();
  Pair found = best;
  out[t] = found.key == 63 && found.value == in[63] && small == 64 && next.load() == in + 64 && guarded == 64 && four.v[0] == four.v[3];
}
__device__ unsigned plain_words[6];
__device__ float2 two;
__global__ void a5(const float* in, float* out, int n) {  // nvcc's own words, and atomics of a block
  __shared__ unsigned near;
  int t = threadIdx.x;
  if (t == 0) {
    near = 0, two = make_float2(0, 0);
    for (unsigned& w : plain_words) w = 0;
    plain_words[2] = 50;
  }
  __syncthreads();
  __nv_atomic_fetch_add(&plain_words[0], 1u, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_or(&plain_words[1], 1u << t % 32, __NV_ATOMIC_SEQ_CST, __NV_THREAD_SCOPE_SYSTEM);
  __nv_atomic_fetch_min(&plain_words[2], unsigned(t + 1), __NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
  unsigned expected = 0, desired = 9;
  __nv_atomic_compare_exchange(&plain_words[3], &expected, &desired, false, __NV_ATOMIC_ACQUIRE, __NV_ATOMIC_RELAXED, __NV_THREAD_SCOPE_DEVICE);
  __nv_atomic_store_n(&plain_words[4], 3u, __NV_ATOMIC_RELEASE, __NV_THREAD_SCOPE_DEVICE);
  atomicAdd_block(&near, 1), atomicMax_block(&plain_words[5], unsigned(t)), atomicCAS_block(&near, 1000u, 0u);
  __nv_atomic_thread_fence(__NV_ATOMIC_ACQ_REL, __NV_THREAD_SCOPE_BLOCK);
  __syncthreads();
  bool fine = plain_words[0] == 64 && plain_words[1] == ~0u && plain_words[2] == 1 && plain_words[3] == 9 && near == 64 && plain_words[5] == 63;
  out[t] = fine && __nv_atomic_load_n(&plain_words[4], __NV_ATOMIC_ACQUIRE, __NV_THREAD_SCOPE_DEVICE) == 3u;
}
__device__ __half2 halves;
__device__ __half half_total;
__device__ alignas(16) float four_sums[4];
__global__ void a6(const float* in, float* out, int n) {  // PTX: atomics of small types and vectors, barriers that reduce
  int t = threadIdx.x;
  if (t == 0) {
    halves = __float2half2_rn(0), half_total = __float2half(0);
    for (float& f : four_sums) f = 0;
  }
  __syncthreads();
  __half2 ones = __floats2half2_rn(1.0f, 0.5f);
  unsigned before, bits = *reinterpret_cast<unsigned*>(&ones);
  asm volatile("atom.global.add.noftz.f16x2 %0, [%1], %2;" : "=r"(before) : "l"(&halves), "r"(bits) : "memory");
  asm volatile("red.relaxed.gpu.global.add.noftz.f16 [%0], %1;" ::"l"(&half_total), "h"((unsigned short)0x3c00) : "memory");
  asm volatile("red.global.add.v4.f32 [%0], {%1, %2, %3, %4};" ::"l"(four_sums), "f"(1.0f), "f"(2.0f), "f"(0.5f), "f"(0.25f) : "memory");
  int even = 0;
  asm volatile("{\n .reg .pred p;\n setp.eq.s32 p, %1, 0;\n barrier.cta.red.popc.aligned.u32 %0, 1, 64, p;\n}" : "=r"(even) : "r"(t % 2));
  __syncthreads();
  bool fine = __low2float(halves) == 64.0f && __high2float(halves) == 32.0f && __half2float(half_total) == 64.0f && even == 32;
  out[t] = fine && four_sums[0] == 64.0f && four_sums[1] == 128.0f && four_sums[2] == 32.0f && four_sums[3] == 16.0f;
}
__global__ void a7(const float* in, float* out, int n) {  // within a block, fences and atomics of a block's scope are enough
  __shared__ int box, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 32) {
    box = 5;
    __threadfence_block();
    atomicExch_block(&flag, 1);
  }
  if (threadIdx.x < 32) {
    cuda::atomic_ref<int, cuda::thread_scope_block> seen(flag);
    while (seen.load(cuda::memory_order_acquire) == 0) {}
    out[threadIdx.x] = box == 5;
  } else {
    out[threadIdx.x] = 1;
  }
}
typedef void (*kernel)(const float*, float*, int);
const kernel kernels[] = {a0, a1, a2, a3, a4, a5, a6, a7};

int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar* scalars, kw_workspace*, kw_stream stream) {
  int which = int(scalars[0].i);
  kernels[which]<<<which == 2 ? 8 : which == 1 || which == 3 ? 2 : 1, 64, 0, (cudaStream_t)stream>>>((const float*)in[0].data, (float*)out[0].data, 64);
  return cudaGetLastError();
}
