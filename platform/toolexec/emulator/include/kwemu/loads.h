/* Loads and stores with hints, asynchronous copies, addresses of shared memory. The hints change nothing but time. */
#pragma once
#include "half.h"

#define KWEMU_LOAD(name) \
  template <class T>     \
  inline T name(const T* p, KWEMU_HERE) { return *kwemu::aligned(p, line, file); }
KWEMU_LOAD(__ldg)
KWEMU_LOAD(__ldca)
KWEMU_LOAD(__ldcg)
KWEMU_LOAD(__ldcs)
KWEMU_LOAD(__ldlu)
KWEMU_LOAD(__ldcv)
#undef KWEMU_LOAD
#define KWEMU_STORE(name)      \
  template <class T, class V>  \
  inline void name(T* p, V v, KWEMU_HERE) { *kwemu::aligned(p, line, file) = v; }
KWEMU_STORE(__stwb)
KWEMU_STORE(__stcg)
KWEMU_STORE(__stcs)
KWEMU_STORE(__stwt)
#undef KWEMU_STORE

inline size_t __cvta_generic_to_shared(const void* p) { return kwemu_shared_offset(p); }
inline void* __cvta_shared_to_generic(size_t offset) { return kwemu_shared_pointer(unsigned(offset)); }
inline size_t __cvta_generic_to_global(const void* p) { return reinterpret_cast<size_t>(p); }
inline int __isShared(const void* p) { return kwemu_is_shared(p); }
inline int __isGlobal(const void* p) { return !kwemu_is_shared(p); }

namespace kwemu {
KWEMU_BARE void copy_async(void* to, const void* from, size_t bytes, size_t zeros) {
  kwemu_copy_async(to, from, unsigned(bytes - zeros), unsigned(zeros), KWEMU_PC);
}
}  // namespace kwemu
#define __pipeline_memcpy_async(to, from, ...) kwemu::pipeline_copy(to, from, __VA_ARGS__)
namespace kwemu {
template <class = void>
__attribute__((always_inline)) inline void pipeline_copy(void* to, const void* from, size_t bytes, size_t zeros = 0) {
  copy_async(to, from, bytes, zeros);
}
/* A thread's share of a copy that several make together, in pieces of up to 16 bytes. */
template <class = void>
KWEMU_BARE void copy_share(void* to, const void* from, size_t bytes, unsigned rank, unsigned threads, const void* barrier, void* pc) {
  uintptr_t bits = uintptr_t(to) | uintptr_t(from) | 16;
  size_t piece = size_t(1) << __builtin_ctzll(bits);
  for (size_t at = rank * piece; at < bytes; at += threads * piece)
    kwemu_copy_group(static_cast<char*>(to) + at, static_cast<const char*>(from) + at, unsigned(bytes - at < piece ? bytes - at : piece), barrier, pc);
}
template <class = void>
KWEMU_BARE void copy_together(void* to, const void* from, size_t bytes, unsigned rank, unsigned threads, const void* barrier) {
  copy_share(to, from, bytes, rank, threads, barrier, KWEMU_PC);
}
}  // namespace kwemu
inline void __pipeline_commit() { kwemu_copy_commit(); }
inline void __pipeline_wait_prior(size_t n) { kwemu_copy_wait(int(n)); }
inline void __pipeline_arrive_on(void*) { kwemu_stop("unsupported", "__pipeline_arrive_on: mbarriers cannot be emulated", 0, ""); }
#define clock() clock_t(kwemu_clock())
#define clock64() ((long long)kwemu_clock())
inline unsigned long long __globaltimer() { return kwemu_clock(); }
