/* Atomics that say their order and scope: what cuda::atomic and nvcc's __nv_atomic_* stand on. Owns what an order means to
 * the checkers; runtime/shadow.cpp keeps who has seen what. */
#pragma once
#include "machine.h"

namespace kwemu {
template <class T>
struct Same { using type = T; };
template <class T>
using same = typename Same<T>::type;

/* As nvcc and the compilers number them: relaxed, consume, acquire, release, acquire and release, sequentially consistent. */
enum { ORDER_RELAXED, ORDER_CONSUME, ORDER_ACQUIRE, ORDER_RELEASE, ORDER_BOTH, ORDER_ALL };
enum { SCOPE_THREAD, SCOPE_BLOCK, SCOPE_CLUSTER, SCOPE_DEVICE, SCOPE_SYSTEM };

inline int order_flags(int order, int scope) {
  bool acquires = order == ORDER_CONSUME || order == ORDER_ACQUIRE || order >= ORDER_BOTH;
  return (order >= ORDER_RELEASE ? RELEASES : 0) | (acquires ? 0 : LATE) | (scope == SCOPE_BLOCK ? NEAR : 0);
}
/* writes: 1 reads and writes, 2 writes only, 0 reads only. Of a thread's own scope it is a use like any other. */
inline void told(const volatile void* p, size_t bytes, int writes, int order, int scope, void* pc) {
  if (scope != SCOPE_THREAD) return kwemu_atomic(p, unsigned(bytes), writes, order_flags(order, scope), pc);
  if (writes != 2) kwemu_touch(p, bytes, 0, pc);
  if (writes) kwemu_touch(p, bytes, 1, pc);
}
template <class T>
constexpr bool atomic_size = (sizeof(T) & (sizeof(T) - 1)) == 0 && sizeof(T) <= 16 && std::is_trivially_copyable_v<T>;

template <class T>
KWEMU_BARE T ordered_load(const volatile T* p, int order, int scope) {
  static_assert(atomic_size<T>, "the emulator has atomics of 1, 2, 4, 8 and 16 bytes");
  told(p, sizeof(T), 0, order, scope, KWEMU_PC);
  T v;
  std::memcpy(&v, const_cast<const T*>(p), sizeof v);
  return v;
}
template <class T>
KWEMU_BARE void ordered_store(volatile T* p, T v, int order, int scope) {
  static_assert(atomic_size<T>, "the emulator has atomics of 1, 2, 4, 8 and 16 bytes");
  told(p, sizeof(T), 2, order, scope, KWEMU_PC);
  std::memcpy(const_cast<T*>(p), &v, sizeof v);
}
/* What was there; next(old) is there afterwards. */
template <class T, class F>
KWEMU_BARE T ordered_update(volatile T* p, int order, int scope, F next) {
  static_assert(atomic_size<T>, "the emulator has atomics of 1, 2, 4, 8 and 16 bytes");
  told(p, sizeof(T), 1, order, scope, KWEMU_PC);
  T old;
  std::memcpy(&old, const_cast<T*>(p), sizeof old);
  T made = next(old);
  std::memcpy(const_cast<T*>(p), &made, sizeof made);
  return old;
}
template <class T>
KWEMU_BARE bool ordered_swap(volatile T* p, T& expected, T desired, int order, int scope) {
  static_assert(atomic_size<T>, "the emulator has atomics of 1, 2, 4, 8 and 16 bytes");
  told(p, sizeof(T), 1, order, scope, KWEMU_PC);
  bool same = !std::memcmp(const_cast<T*>(p), &expected, sizeof expected);
  std::memcpy(same ? const_cast<T*>(p) : &expected, same ? &desired : const_cast<T*>(p), sizeof expected);
  return same;
}
inline void ordered_fence(int order, int scope) {
  if (order != ORDER_RELAXED && scope != SCOPE_THREAD) kwemu_fence(scope == SCOPE_BLOCK ? 0 : 1);
}

/* Sums wrap around as a GPU's do. */
template <class T, class V>
KWEMU_BARE T sum_of(T a, V b) {
  if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(a) + std::make_unsigned_t<T>(b));
  else return T(a + b);
}
template <class T, class V>
KWEMU_BARE T difference_of(T a, V b) {
  if constexpr (std::is_integral_v<T>) return T(std::make_unsigned_t<T>(a) - std::make_unsigned_t<T>(b));
  else return T(a - b);
}
}  // namespace kwemu

#define __NV_ATOMIC_RELAXED kwemu::ORDER_RELAXED
#define __NV_ATOMIC_CONSUME kwemu::ORDER_CONSUME
#define __NV_ATOMIC_ACQUIRE kwemu::ORDER_ACQUIRE
#define __NV_ATOMIC_RELEASE kwemu::ORDER_RELEASE
#define __NV_ATOMIC_ACQ_REL kwemu::ORDER_BOTH
#define __NV_ATOMIC_SEQ_CST kwemu::ORDER_ALL
#define __NV_THREAD_SCOPE_THREAD kwemu::SCOPE_THREAD
#define __NV_THREAD_SCOPE_BLOCK kwemu::SCOPE_BLOCK
#define __NV_THREAD_SCOPE_CLUSTER kwemu::SCOPE_CLUSTER
#define __NV_THREAD_SCOPE_DEVICE kwemu::SCOPE_DEVICE
#define __NV_THREAD_SCOPE_SYSTEM kwemu::SCOPE_SYSTEM
template <class T>
KWEMU_INLINED T __nv_atomic_load_n(const T* p, int order, int scope = kwemu::SCOPE_SYSTEM) { return kwemu::ordered_load(p, order, scope); }
template <class T>
KWEMU_INLINED void __nv_atomic_load(const T* p, T* to, int order, int scope = kwemu::SCOPE_SYSTEM) { *to = kwemu::ordered_load(p, order, scope); }
template <class T>
KWEMU_INLINED void __nv_atomic_store_n(T* p, kwemu::same<T> v, int order, int scope = kwemu::SCOPE_SYSTEM) { kwemu::ordered_store(p, v, order, scope); }
template <class T>
KWEMU_INLINED void __nv_atomic_store(T* p, const T* v, int order, int scope = kwemu::SCOPE_SYSTEM) { kwemu::ordered_store(p, T(*v), order, scope); }
template <class T>
KWEMU_INLINED T __nv_atomic_exchange_n(T* p, kwemu::same<T> v, int order, int scope = kwemu::SCOPE_SYSTEM) {
  return kwemu::ordered_update(p, order, scope, [v](T) { return v; });
}
template <class T>
KWEMU_INLINED void __nv_atomic_exchange(T* p, const T* v, T* old, int order, int scope = kwemu::SCOPE_SYSTEM) { *old = __nv_atomic_exchange_n(p, *v, order, scope); }
template <class T>
KWEMU_INLINED bool __nv_atomic_compare_exchange_n(T* p, T* expected, kwemu::same<T> desired, bool, int order, int, int scope = kwemu::SCOPE_SYSTEM) {
  T seen = *expected;
  bool same = kwemu::ordered_swap(p, seen, desired, order, scope);
  if (!same) *expected = seen;
  return same;
}
template <class T>
KWEMU_INLINED bool __nv_atomic_compare_exchange(T* p, T* expected, const T* desired, bool weak, int order, int other, int scope = kwemu::SCOPE_SYSTEM) {
  return __nv_atomic_compare_exchange_n(p, expected, *desired, weak, order, other, scope);
}
#define KWEMU_NV_ATOMIC(name, expression)                                                                                      \
  template <class T>                                                                                                           \
  KWEMU_INLINED T __nv_atomic_fetch_##name(T* p, kwemu::same<T> v, int order, int scope = kwemu::SCOPE_SYSTEM) {               \
    return kwemu::ordered_update(p, order, scope, [v](T old) KWEMU_UNSEEN { return T(expression); });                           \
  }                                                                                                                            \
  template <class T>                                                                                                           \
  KWEMU_INLINED void __nv_atomic_##name(T* p, kwemu::same<T> v, int order, int scope = kwemu::SCOPE_SYSTEM) {                  \
    kwemu::ordered_update(p, order, scope, [v](T old) KWEMU_UNSEEN { return T(expression); });                                  \
  }
KWEMU_NV_ATOMIC(add, kwemu::sum_of(old, v))
KWEMU_NV_ATOMIC(sub, kwemu::difference_of(old, v))
KWEMU_NV_ATOMIC(min, v < old ? v : old)
KWEMU_NV_ATOMIC(max, old < v ? v : old)
KWEMU_NV_ATOMIC(and, old & v)
KWEMU_NV_ATOMIC(or, old | v)
KWEMU_NV_ATOMIC(xor, old ^ v)
#undef KWEMU_NV_ATOMIC
inline void __nv_atomic_thread_fence(int order, int scope = kwemu::SCOPE_SYSTEM) { kwemu::ordered_fence(order, scope); }
