/* The running thread's view of itself, and what the header asks of the runtime. Owns the names of CUDA's qualifiers and
 * built-in variables. Everything here must be cheap: it is in every access of a kernel. */
#pragma once
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <type_traits>
#include <utility>

#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __shared__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...) KWEMU_UNSUPPORTED_clusters
#define __maxnreg__(...)
#define __align__(n) alignas(n)
#define __builtin_align__(n) alignas(n)
#ifndef __restrict__
#define __restrict__ __restrict
#endif
#define __CUDACC_EMULATED__ 1
#if !defined(__CUDA_ARCH__) && !defined(KWEMU_HOST_FORMS) /* CuTe then takes the forms that it has for a host */
#define __CUDA_ARCH__ 800
#endif

/* Code that the checkers must not see: the emulator's own. Never inlined into what they see. */
#if KWEMU_CHECK
#define KWEMU_BARE __attribute__((no_sanitize("thread"), noinline))
#else
#define KWEMU_BARE inline
#endif
#define KWEMU_UNSEEN __attribute__((no_sanitize("thread")))
#define KWEMU_INLINED __attribute__((always_inline)) inline
#define KWEMU_HIDDEN __attribute__((visibility("hidden")))

struct uint3 { unsigned x, y, z; };
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned a = 1, unsigned b = 1, unsigned c = 1) : x(a), y(b), z(c) {}
  constexpr dim3(uint3 v) : x(v.x), y(v.y), z(v.z) {}
  constexpr operator uint3() const { return {x, y, z}; }
};

namespace kwemu {
struct Now {  // filled in at each switch of fibers
  uint3 thread, block, block_dim, grid_dim;
  unsigned rank, lane;
};
struct Site {  // where in the sources something was asked for
  const char* file;
  int line;
};
}  // namespace kwemu
extern "C" KWEMU_HIDDEN kwemu::Now kwemu_now;

namespace kwemu {
#if defined(__x86_64__)
/* Read by an instruction that the instrumentation does not see and the optimizer may merge: it never changes under a thread. */
#define KWEMU_READ(field)                                                                             \
  ([]() __attribute__((always_inline)) {                                                              \
    unsigned value;                                                                                   \
    __asm__("movl kwemu_now+%c1(%%rip), %0" : "=r"(value) : "i"(__builtin_offsetof(kwemu::Now, field))); \
    return value;                                                                                     \
  }())
#else
#define KWEMU_READ(field) (kwemu_now.field)
#endif
inline uint3 thread_index() { return {KWEMU_READ(thread.x), KWEMU_READ(thread.y), KWEMU_READ(thread.z)}; }
inline uint3 block_index() { return {KWEMU_READ(block.x), KWEMU_READ(block.y), KWEMU_READ(block.z)}; }
inline dim3 block_size() { return {KWEMU_READ(block_dim.x), KWEMU_READ(block_dim.y), KWEMU_READ(block_dim.z)}; }
inline dim3 grid_size() { return {KWEMU_READ(grid_dim.x), KWEMU_READ(grid_dim.y), KWEMU_READ(grid_dim.z)}; }
inline unsigned lane_id() { return KWEMU_READ(lane); }
inline unsigned thread_rank() { return KWEMU_READ(rank); }

/* The runtime, runtime/machine.hpp's side. */
struct Config {
  dim3 grid, block;
  size_t shared;
  bool cooperative;
  Site site;
  const char* name;
  bool by_host;  // host code has to ask for more than 48 KB of shared memory; launches as data do it themselves
};
typedef void (*Body)(void*);
typedef const uint64_t* Values;
enum Op { SHFL = 1, SHFL_UP, SHFL_DOWN, SHFL_XOR, VOTE, MATCH, REDUCE, SYNCWARP, ACTIVE, COLLECTIVE };
/* Of an atomic: a fence comes before it; what it sees is known from the thread's next fence on, not at once; its scope is the block. */
enum Order { RELEASES = 1, LATE = 2, NEAR = 4 };
enum Reduction { BARRIER_ONLY, BARRIER_COUNT, BARRIER_AND, BARRIER_OR };
}  // namespace kwemu

extern "C" {
KWEMU_HIDDEN void kwemu_device_variable(const volatile void* value, size_t bytes, size_t room, const char* name);
KWEMU_HIDDEN void kwemu_run(const kwemu::Config*, kwemu::Body, void* arguments);
KWEMU_HIDDEN void* kwemu_shared_object(const void* tag, size_t bytes, size_t align, const char* name);
KWEMU_HIDDEN void* kwemu_dynamic_shared(void);
KWEMU_HIDDEN size_t kwemu_dynamic_shared_bytes(void);
KWEMU_HIDDEN int kwemu_barrier(int id, int threads, int predicate, int reduction, int line, const char* file);
KWEMU_HIDDEN void kwemu_barrier_arrive(int id, int threads, int line, const char* file);
KWEMU_HIDDEN void kwemu_grid_barrier(int line, const char* file);
/* All lanes of mask meet; the values of all lanes, and in *arrived which of them came. Valid until the next call. */
KWEMU_HIDDEN kwemu::Values kwemu_warp(int op, unsigned mask, uint64_t value, unsigned* arrived, int line, const char* file);
KWEMU_HIDDEN void kwemu_wrong_lane(int source, unsigned mask, int line, const char* file);
KWEMU_HIDDEN void kwemu_atomic(const volatile void* address, unsigned bytes, int writes, int order, void* pc);
KWEMU_HIDDEN void kwemu_fence(int scope);
KWEMU_HIDDEN void kwemu_pause(void);
KWEMU_HIDDEN unsigned long long kwemu_clock(void);
KWEMU_HIDDEN void kwemu_copy_async(void* to, const void* from, unsigned bytes, unsigned zeros, void* pc);
KWEMU_HIDDEN void kwemu_copy_commit(void);
KWEMU_HIDDEN void kwemu_copy_wait(int groups_left);
KWEMU_HIDDEN void kwemu_touch(const volatile void* address, size_t bytes, int writes, void* pc);
KWEMU_HIDDEN unsigned kwemu_shared_offset(const void* address);
KWEMU_HIDDEN void* kwemu_shared_pointer(unsigned offset);
KWEMU_HIDDEN void kwemu_copy_group(void* to, const void* from, unsigned bytes, const void* barrier, void* pc);
/* Barriers that lie in shared memory (barrier.h). The token is the phase that was arrived at. */
KWEMU_HIDDEN void kwemu_object_init(void* barrier, unsigned expected, void* pc);
KWEMU_HIDDEN void* kwemu_block_object(void);
KWEMU_HIDDEN unsigned kwemu_object_arrive(void* barrier, unsigned count, int drop, int line, const char* file);
KWEMU_HIDDEN void kwemu_object_wait(void* barrier, unsigned phase, int line, const char* file);
KWEMU_HIDDEN int kwemu_object_passed(void* barrier, unsigned phase, int line, const char* file);
[[noreturn]] KWEMU_HIDDEN void kwemu_stop(const char* kind, const char* text, int line, const char* file);
KWEMU_HIDDEN int kwemu_is_shared(const void* address);
KWEMU_HIDDEN void kwemu_misaligned_at(const volatile void* address, unsigned alignment, void* pc);
KWEMU_HIDDEN void kwemu_misaligned(const volatile void* address, unsigned alignment, int line, const char* file);
}
#define KWEMU_PC __builtin_extract_return_addr(__builtin_return_address(0))
#define KWEMU_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

namespace kwemu {
/* The program counter of who asks, where that is code which is always inlined into the kernel. */
template <class = void>
KWEMU_BARE void* this_place() { return KWEMU_PC; }

/* What ../../aligned_uses.py puts around pointers; whatever else stands there is handed on. */
template <class T>
__attribute__((always_inline)) inline T* aligned(T* p, int line, const char* file) {
  if (uintptr_t(p) & (alignof(T) - 1)) kwemu_misaligned(p, unsigned(alignof(T)), line, file);
  return p;
}
template <class T>
__attribute__((always_inline)) inline T* aligned(T* p, KWEMU_HERE) { return aligned(p, line, file); }
template <class T>
__attribute__((always_inline)) inline T& aligned(T& other) { return other; }
}  // namespace kwemu

#define threadIdx (kwemu::thread_index())
#define blockIdx (kwemu::block_index())
#define blockDim (kwemu::block_size())
#define gridDim (kwemu::grid_size())
static constexpr int warpSize = 32;
