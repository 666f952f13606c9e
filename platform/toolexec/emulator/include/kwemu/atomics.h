/* Atomics of all types and scopes. One processor thread runs everything, so that a plain update is atomic; the runtime is
 * told of each. Order: CUDA's atomicX are relaxed, a fence is the caller's. */
#pragma once
#include "ordered.h"
#include "vectors.h"

namespace kwemu {
/* writes: 1 reads and writes, 2 writes only, 0 reads only. */
#define KWEMU_TELL(p, writes) kwemu_atomic(p, sizeof *p, writes, 0, KWEMU_PC)
#define KWEMU_TELL_NEAR(p) kwemu_atomic(p, sizeof *p, 1, kwemu::NEAR, KWEMU_PC)
}  // namespace kwemu
#define KWEMU_ATOMIC(name, type, expression)                               \
  KWEMU_BARE type name(type* p, type v) {                                  \
    KWEMU_TELL(p, 1);                                                      \
    type old = *p;                                                         \
    *p = (type)(expression);                                               \
    return old;                                                            \
  }                                                                        \
  template <class = void>                                                  \
  KWEMU_BARE type name##_block(type* p, type v) {                          \
    KWEMU_TELL_NEAR(p);                                                    \
    type old = *p;                                                         \
    *p = (type)(expression);                                               \
    return old;                                                            \
  }                                                                        \
  inline type name##_system(type* p, type v) { return name(p, v); }        \
  inline type name(volatile type* p, type v) { return name(const_cast<type*>(p), v); }
#define KWEMU_ALL_INTEGERS(name, expression)          \
  KWEMU_ATOMIC(name, int, expression)                 \
  KWEMU_ATOMIC(name, unsigned, expression)            \
  KWEMU_ATOMIC(name, unsigned long long, expression)  \
  KWEMU_ATOMIC(name, long long, expression)           \
  KWEMU_ATOMIC(name, unsigned long, expression)       \
  KWEMU_ATOMIC(name, long, expression)
KWEMU_ALL_INTEGERS(atomicAdd, (unsigned long long)old + (unsigned long long)v)
KWEMU_ATOMIC(atomicAdd, float, old + v)
KWEMU_ATOMIC(atomicAdd, double, old + v)
KWEMU_ALL_INTEGERS(atomicSub, (unsigned long long)old - (unsigned long long)v)
KWEMU_ALL_INTEGERS(atomicMin, old < v ? old : v)
KWEMU_ALL_INTEGERS(atomicMax, old < v ? v : old)
KWEMU_ALL_INTEGERS(atomicAnd, old& v)
KWEMU_ALL_INTEGERS(atomicOr, old | v)
KWEMU_ALL_INTEGERS(atomicXor, old ^ v)
KWEMU_ALL_INTEGERS(atomicExch, v)
KWEMU_ATOMIC(atomicExch, float, v)
KWEMU_ATOMIC(atomicInc, unsigned, old >= v ? 0u : old + 1)
KWEMU_ATOMIC(atomicDec, unsigned, old == 0 || old > v ? v : old - 1)
#define KWEMU_CAS(type)                                                                  \
  KWEMU_BARE type atomicCAS(type* p, type expected, type v) {                            \
    KWEMU_TELL(p, 1);                                                                    \
    type old = *p;                                                                       \
    if (old == expected) *p = v;                                                         \
    return old;                                                                          \
  }                                                                                      \
  inline type atomicCAS(volatile type* p, type e, type v) { return atomicCAS(const_cast<type*>(p), e, v); } \
  template <class = void>                                                                \
  KWEMU_BARE type atomicCAS_block(type* p, type expected, type v) {                      \
    KWEMU_TELL_NEAR(p);                                                                  \
    type old = *p;                                                                       \
    if (old == expected) *p = v;                                                         \
    return old;                                                                          \
  }                                                                                      \
  inline type atomicCAS_system(type* p, type e, type v) { return atomicCAS(p, e, v); }
KWEMU_CAS(int)
KWEMU_CAS(unsigned)
KWEMU_CAS(unsigned long long)
KWEMU_CAS(long long)
KWEMU_CAS(unsigned long)
KWEMU_CAS(unsigned short)
#undef KWEMU_CAS
/* 16 bytes that are exchanged at once, and pairs and fours of floats that are added one by one: sm_90's. */
template <class T, class = std::enable_if_t<sizeof(T) == 16 && alignof(T) == 16 && std::is_trivially_copyable_v<T> && !std::is_floating_point_v<T>>>
KWEMU_INLINED T atomicExch(T* p, kwemu::same<T> v) {
  return kwemu::ordered_update(p, kwemu::ORDER_RELAXED, kwemu::SCOPE_DEVICE, [v](T) KWEMU_UNSEEN { return v; });
}
template <class T, class = std::enable_if_t<sizeof(T) == 16 && alignof(T) == 16 && std::is_trivially_copyable_v<T> && !std::is_floating_point_v<T>>>
KWEMU_INLINED T atomicCAS(T* p, kwemu::same<T> expected, kwemu::same<T> v) {
  kwemu::ordered_swap(p, expected, v, kwemu::ORDER_RELAXED, kwemu::SCOPE_DEVICE);
  return expected;
}
#define KWEMU_FLOAT_VECTOR(type, ...)                            \
  template <class = void>                                        \
  KWEMU_BARE type atomicAdd(type* p, type v) {                   \
    KWEMU_TELL(p, 1);                                            \
    type old = *p;                                               \
    *p = __VA_ARGS__;                                            \
    return old;                                                  \
  }                                                              \
  inline type atomicAdd_block(type* p, type v) { return atomicAdd(p, v); }  \
  inline type atomicAdd_system(type* p, type v) { return atomicAdd(p, v); }
KWEMU_FLOAT_VECTOR(float2, {old.x + v.x, old.y + v.y})
KWEMU_FLOAT_VECTOR(float4, {old.x + v.x, old.y + v.y, old.z + v.z, old.w + v.w})
#undef KWEMU_FLOAT_VECTOR
#undef KWEMU_ALL_INTEGERS

/* Mixed arguments, as atomicAdd(&count, 1): the address decides. */
#define KWEMU_MIXED(name)                                                                                           \
  template <class T, class V, class = std::enable_if_t<std::is_arithmetic_v<T> && std::is_arithmetic_v<V> && !std::is_same_v<T, V>>> \
  inline T name(T* p, V v) {                                                                                        \
    return name(p, static_cast<T>(v));                                                                              \
  }
KWEMU_MIXED(atomicAdd)
KWEMU_MIXED(atomicSub)
KWEMU_MIXED(atomicMin)
KWEMU_MIXED(atomicMax)
KWEMU_MIXED(atomicAnd)
KWEMU_MIXED(atomicOr)
KWEMU_MIXED(atomicXor)
KWEMU_MIXED(atomicExch)
KWEMU_MIXED(atomicInc)
KWEMU_MIXED(atomicDec)
#undef KWEMU_MIXED
template <class T, class A, class B, class = std::enable_if_t<std::is_integral_v<T> && std::is_arithmetic_v<A> && std::is_arithmetic_v<B> && !(std::is_same_v<T, A> && std::is_same_v<T, B>)>>
inline T atomicCAS(T* p, A expected, B v) {
  return atomicCAS(p, static_cast<T>(expected), static_cast<T>(v));
}
#define KWEMU_FLOATS(type)                                                      \
  KWEMU_BARE type atomicAdd(type* p, type v) {                                  \
    KWEMU_TELL(p, 1);                                                           \
    type old = *p;                                                              \
    *p = old + v;                                                               \
    return old;                                                                 \
  }
