/* cuda::atomic, cuda::atomic_ref and their fences, of every scope. Owns their names; ordered.h says what they do. */
#pragma once
#include <atomic>
#include "cuda_std.h"
#include "prelude.h"

namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
namespace std {
using ::std::memory_order;
}
using ::std::memory_order;
using ::std::memory_order_acq_rel;
using ::std::memory_order_acquire;
using ::std::memory_order_consume;
using ::std::memory_order_relaxed;
using ::std::memory_order_release;
using ::std::memory_order_seq_cst;
}  // namespace cuda

namespace kwemu {
constexpr int scope_of(cuda::thread_scope s) {
  return s == cuda::thread_scope_thread ? SCOPE_THREAD : s == cuda::thread_scope_block ? SCOPE_BLOCK : s == cuda::thread_scope_device ? SCOPE_DEVICE : SCOPE_SYSTEM;
}
constexpr ::std::memory_order ALL = ::std::memory_order_seq_cst;
template <class T>
constexpr bool is_number = ::std::is_arithmetic_v<T> && !::std::is_same_v<T, bool>;
template <class T>
constexpr bool is_bits = ::std::is_integral_v<T> && !::std::is_same_v<T, bool>;

/* What an atomic object and a reference to any object have in common: Own::place() is where the value lies. */
template <class Own, class T, int Scope>
class AtomicUses {
  volatile T* at() const { return static_cast<const Own*>(this)->place(); }
  typedef ::std::conditional_t<::std::is_pointer_v<T>, ptrdiff_t, T> Step;

 public:
  using value_type = T;
  static constexpr bool is_always_lock_free = sizeof(T) <= 8;
  bool is_lock_free() const { return is_always_lock_free; }
  KWEMU_INLINED T load(::std::memory_order m = ALL) const { return ordered_load(at(), int(m), Scope); }
  KWEMU_INLINED operator T() const { return load(); }
  KWEMU_INLINED T exchange(T v, ::std::memory_order m = ALL) const {
    return ordered_update(at(), int(m), Scope, [v](T) KWEMU_UNSEEN { return v; });
  }
  KWEMU_INLINED bool compare_exchange_strong(T& expected, T v, ::std::memory_order m = ALL) const {
    T seen = expected;
    bool same = ordered_swap(at(), seen, v, int(m), Scope);
    if (!same) expected = seen;
    return same;
  }
  KWEMU_INLINED bool compare_exchange_strong(T& expected, T v, ::std::memory_order m, ::std::memory_order) const { return compare_exchange_strong(expected, v, m); }
  KWEMU_INLINED bool compare_exchange_weak(T& expected, T v, ::std::memory_order m = ALL) const { return compare_exchange_strong(expected, v, m); }
  KWEMU_INLINED bool compare_exchange_weak(T& expected, T v, ::std::memory_order m, ::std::memory_order) const { return compare_exchange_strong(expected, v, m); }
  KWEMU_INLINED void wait(T old, ::std::memory_order m = ALL) const {
    for (T seen = load(m); !::std::memcmp(&seen, &old, sizeof old);) seen = load(m);
  }
  void notify_one() const {}
  void notify_all() const {}
#define KWEMU_FETCH(name, condition, type, expression)                                                     \
  template <class U = T, class = ::std::enable_if_t<condition>>                                            \
  KWEMU_INLINED T name(type v, ::std::memory_order m = ALL) const {                                        \
    return ordered_update(at(), int(m), Scope, [v](T old) KWEMU_UNSEEN { return T(expression); });         \
  }
  KWEMU_FETCH(fetch_add, is_number<U> || ::std::is_pointer_v<U>, Step, sum_of(old, v))
  KWEMU_FETCH(fetch_sub, is_number<U> || ::std::is_pointer_v<U>, Step, difference_of(old, v))
  KWEMU_FETCH(fetch_min, is_number<U>, T, v < old ? v : old)
  KWEMU_FETCH(fetch_max, is_number<U>, T, old < v ? v : old)
  KWEMU_FETCH(fetch_and, is_bits<U>, T, old & v)
  KWEMU_FETCH(fetch_or, is_bits<U>, T, old | v)
  KWEMU_FETCH(fetch_xor, is_bits<U>, T, old ^ v)
#undef KWEMU_FETCH
  KWEMU_INLINED T operator++(int) const { return fetch_add(1); }
  KWEMU_INLINED T operator--(int) const { return fetch_sub(1); }
  KWEMU_INLINED T operator++() const { return sum_of(fetch_add(1), 1); }
  KWEMU_INLINED T operator--() const { return difference_of(fetch_sub(1), 1); }
  KWEMU_INLINED T operator+=(Step v) const { return sum_of(fetch_add(v), v); }
  KWEMU_INLINED T operator-=(Step v) const { return difference_of(fetch_sub(v), v); }
  KWEMU_INLINED T operator&=(T v) const { return fetch_and(v) & v; }
  KWEMU_INLINED T operator|=(T v) const { return fetch_or(v) | v; }
  KWEMU_INLINED T operator^=(T v) const { return fetch_xor(v) ^ v; }

 protected:
  KWEMU_INLINED void put(T v, ::std::memory_order m) const { ordered_store(at(), v, int(m), Scope); }
};

template <class T, int Scope>
class Atomic : public AtomicUses<Atomic<T, Scope>, T, Scope> {
  friend class AtomicUses<Atomic, T, Scope>;
  alignas(atomic_size<T> ? sizeof(T) : alignof(T)) mutable T value_;
  volatile T* place() const { return &value_; }

 public:
  Atomic() = default;
  constexpr Atomic(T v) : value_(v) {}
  Atomic(const Atomic&) = delete;
  Atomic& operator=(const Atomic&) = delete;
  KWEMU_INLINED void store(T v, ::std::memory_order m = ALL) { this->put(v, m); }
  KWEMU_INLINED T operator=(T v) { return store(v), v; }
};
template <class T, int Scope>
class AtomicRef : public AtomicUses<AtomicRef<T, Scope>, T, Scope> {
  friend class AtomicUses<AtomicRef, T, Scope>;
  T* value_;
  volatile T* place() const { return value_; }

 public:
  static constexpr size_t required_alignment = sizeof(T);
  explicit AtomicRef(T& v) : value_(&v) {}
  AtomicRef(const AtomicRef&) = default;
  AtomicRef& operator=(const AtomicRef&) = delete;
  KWEMU_INLINED void store(T v, ::std::memory_order m = ALL) const { this->put(v, m); }
  KWEMU_INLINED T operator=(T v) const { return store(v), v; }
};
}  // namespace kwemu

namespace cuda {
template <class T, thread_scope Scope = thread_scope_system>
struct atomic : kwemu::Atomic<T, kwemu::scope_of(Scope)> {
  using kwemu::Atomic<T, kwemu::scope_of(Scope)>::Atomic;
  using kwemu::Atomic<T, kwemu::scope_of(Scope)>::operator=;
  atomic() = default;
};
template <class T, thread_scope Scope = thread_scope_system>
struct atomic_ref : kwemu::AtomicRef<T, kwemu::scope_of(Scope)> {
  using kwemu::AtomicRef<T, kwemu::scope_of(Scope)>::AtomicRef;
  using kwemu::AtomicRef<T, kwemu::scope_of(Scope)>::operator=;
};
template <class T>
atomic_ref(T&) -> atomic_ref<T>;
inline void atomic_thread_fence(memory_order m, thread_scope scope = thread_scope_system) { kwemu::ordered_fence(int(m), kwemu::scope_of(scope)); }
inline void atomic_signal_fence(memory_order) {}

template <thread_scope Scope>
class atomic_flag_of {
  atomic<unsigned, Scope> set_;

 public:
  atomic_flag_of() = default;
  constexpr atomic_flag_of(bool v) : set_(v) {}
  KWEMU_INLINED bool test(memory_order m = kwemu::ALL) const { return set_.load(m); }
  KWEMU_INLINED bool test_and_set(memory_order m = kwemu::ALL) { return set_.exchange(1, m); }
  KWEMU_INLINED void clear(memory_order m = kwemu::ALL) { set_.store(0, m); }
  KWEMU_INLINED void wait(bool old, memory_order m = kwemu::ALL) const { set_.wait(old, m); }
  void notify_one() {}
  void notify_all() {}
};
namespace std {
template <class T>
using atomic = ::cuda::atomic<T>;
template <class T>
using atomic_ref = ::cuda::atomic_ref<T>;
using atomic_flag = ::cuda::atomic_flag_of<thread_scope_system>;
inline void atomic_thread_fence(memory_order m) { ::cuda::atomic_thread_fence(m); }
inline void atomic_signal_fence(memory_order) {}
}  // namespace std
using std::atomic_flag;
}  // namespace cuda
