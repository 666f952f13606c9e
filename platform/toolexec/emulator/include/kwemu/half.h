/* half and bfloat16: stored as 16 bits, computed in float and rounded once, as the hardware's own operations are. */
#pragma once
#include "atomics.h"

namespace kwemu {
inline float half_to_float(uint16_t h) {
  uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, rest = h & 0x3ff, bits;
  if (exponent == 31) bits = sign | 0x7f800000 | rest << 13;
  else if (exponent) bits = sign | (exponent + 112) << 23 | rest << 13;
  else if (!rest) bits = sign;
  else {
    int up = __builtin_clz(rest) - 21;
    bits = sign | uint32_t(113 - up) << 23 | (rest << up & 0x3ff) << 13;
  }
  return __builtin_bit_cast(float, bits);
}
enum Rounding { NEAREST, TO_ZERO, DOWN, UP };
inline uint16_t float_to_half(float f, Rounding mode = NEAREST) {
  uint32_t bits = __builtin_bit_cast(uint32_t, f), sign = bits >> 16 & 0x8000, a = bits & 0x7fffffff;
  if (a > 0x7f800000) return 0x7fff;
  bool away = (mode == UP && !sign) || (mode == DOWN && sign), nearest = mode == NEAREST;
  if (a >= 0x47800000) return uint16_t(sign | (a == 0x7f800000 || nearest || away ? 0x7c00 : 0x7bff));
  int shift = a >= 0x38800000 ? 13 : a >= 0x32800000 ? 126 - int(a >> 23) : 25;
  uint32_t whole = a >= 0x38800000 ? a - 0x38000000 : shift < 25 ? (a & 0x7fffff) | 0x800000 : a ? 1 : 0;
  uint32_t half = 1u << (shift - 1), rest = whole & ((1u << shift) - 1), kept = whole >> shift;
  if (nearest ? rest > half || (rest == half && kept & 1) : away && rest) kept++;
  return uint16_t(sign | kept);
}
inline float bfloat_to_float(uint16_t b) { return __builtin_bit_cast(float, uint32_t(b) << 16); }
inline uint16_t float_to_bfloat(float f, Rounding mode = NEAREST) {
  uint32_t bits = __builtin_bit_cast(uint32_t, f);
  if ((bits & 0x7fffffff) > 0x7f800000) return 0x7fff;
  if (mode == NEAREST) return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
  bool away = (mode == UP && !(bits >> 31)) || (mode == DOWN && bits >> 31);
  return uint16_t((bits + (away ? 0xffff : 0)) >> 16);
}
}  // namespace kwemu

#define KWEMU_SMALL(T, raw, to, from)                                                              \
  struct raw { unsigned short x; };                                                                \
  struct T {                                                                                       \
    unsigned short __x;                                                                            \
    T() = default;                                                                                 \
    T(raw r) : __x(r.x) {}                                                                         \
    operator raw() const { return raw{__x}; }                                                      \
    template <class N, class = std::enable_if_t<std::is_arithmetic_v<N>>>                          \
    T(N v) : __x(kwemu::from(static_cast<float>(v))) {}                                            \
    operator float() const { return kwemu::to(__x); }                                              \
    T& operator+=(T o) { return *this = T(float(*this) + float(o)); }                              \
    T& operator-=(T o) { return *this = T(float(*this) - float(o)); }                              \
    T& operator*=(T o) { return *this = T(float(*this) * float(o)); }                              \
    T& operator/=(T o) { return *this = T(float(*this) / float(o)); }                              \
  };                                                                                               \
  inline T operator+(T a, T b) { return T(float(a) + float(b)); }                                  \
  inline T operator-(T a, T b) { return T(float(a) - float(b)); }                                  \
  inline T operator*(T a, T b) { return T(float(a) * float(b)); }                                  \
  inline T operator/(T a, T b) { return T(float(a) / float(b)); }                                  \
  inline T operator-(T a) { return raw{(unsigned short)(a.__x ^ 0x8000)}; }                        \
  inline bool operator<(T a, T b) { return float(a) < float(b); }                                  \
  inline bool operator>(T a, T b) { return float(a) > float(b); }                                  \
  inline bool operator<=(T a, T b) { return float(a) <= float(b); }                                \
  inline bool operator>=(T a, T b) { return float(a) >= float(b); }                                \
  inline bool operator==(T a, T b) { return float(a) == float(b); }                                \
  inline bool operator!=(T a, T b) { return float(a) != float(b); }                                \
  struct alignas(4) T##2 { T x, y; };                                                              \
  inline T##2 operator+(T##2 a, T##2 b) { return {a.x + b.x, a.y + b.y}; }                         \
  inline T##2 operator-(T##2 a, T##2 b) { return {a.x - b.x, a.y - b.y}; }                         \
  inline T##2 operator*(T##2 a, T##2 b) { return {a.x * b.x, a.y * b.y}; }                         \
  inline T##2 operator/(T##2 a, T##2 b) { return {a.x / b.x, a.y / b.y}; }                         \
  inline T##2 operator-(T##2 a) { return {-a.x, -a.y}; }                                           \
  inline T __hadd(T a, T b) { return a + b; }                                                      \
  inline T __hsub(T a, T b) { return a - b; }                                                      \
  inline T __hmul(T a, T b) { return a * b; }                                                      \
  inline T __hdiv(T a, T b) { return a / b; }                                                      \
  inline T __hneg(T a) { return -a; }                                                              \
  inline T __habs(T a) { return raw{(unsigned short)(a.__x & 0x7fff)}; }                           \
  inline T __hfma(T a, T b, T c) { return T(float(double(float(a)) * float(b) + float(c))); }      \
  inline T __hmax(T a, T b) { return T(fmaxf(a, b)); }                                             \
  inline T __hmin(T a, T b) { return T(fminf(a, b)); }                                             \
  inline bool __hlt(T a, T b) { return a < b; }                                                    \
  inline bool __hgt(T a, T b) { return a > b; }                                                    \
  inline bool __hle(T a, T b) { return a <= b; }                                                   \
  inline bool __hge(T a, T b) { return a >= b; }                                                   \
  inline bool __heq(T a, T b) { return a == b; }                                                   \
  inline bool __hne(T a, T b) { return a < b || a > b; }                                           \
  inline int __hisinf(T a) { return (a.__x & 0x7fff) != T(INFINITY).__x ? 0 : a.__x & 0x8000 ? -1 : 1; }               \
  inline bool __hisnan(T a) { return (a.__x & 0x7fff) > T(INFINITY).__x; }                      \
  inline T##2 __hadd2(T##2 a, T##2 b) { return a + b; }                                            \
  inline T##2 __hsub2(T##2 a, T##2 b) { return a - b; }                                            \
  inline T##2 __hmul2(T##2 a, T##2 b) { return a * b; }                                            \
  inline T##2 __h2div(T##2 a, T##2 b) { return a / b; }                                            \
  inline T##2 __hfma2(T##2 a, T##2 b, T##2 c) { return {__hfma(a.x, b.x, c.x), __hfma(a.y, b.y, c.y)}; } \
  inline T##2 __hmax2(T##2 a, T##2 b) { return {__hmax(a.x, b.x), __hmax(a.y, b.y)}; }             \
  inline T##2 __hmin2(T##2 a, T##2 b) { return {__hmin(a.x, b.x), __hmin(a.y, b.y)}; }             \
  inline T##2 __hneg2(T##2 a) { return -a; }                                                       \
  inline T hexp(T a) { return T(expf(a)); }                                                        \
  inline T hexp2(T a) { return T(exp2f(a)); }                                                      \
  inline T hlog(T a) { return T(logf(a)); }                                                        \
  inline T hsqrt(T a) { return T(sqrtf(a)); }                                                      \
  inline T hrsqrt(T a) { return T(1.0f / sqrtf(a)); }                                              \
  inline T hrcp(T a) { return T(1.0f / float(a)); }                                                \
  inline T htanh(T a) { return T(tanhf(a)); }                                                      \
  inline T hsin(T a) { return T(sinf(a)); }                                                        \
  inline T hcos(T a) { return T(cosf(a)); }                                                        \
  KWEMU_FLOATS(T)                                                                                  \
  KWEMU_BARE T##2 atomicAdd(T##2* p, T##2 v) {                                                     \
    KWEMU_TELL(p, 1);                                                                              \
    T##2 old = *p;                                                                                 \
    *p = old + v;                                                                                  \
    return old;                                                                                    \
  }

KWEMU_SMALL(__half, __half_raw, half_to_float, float_to_half)
KWEMU_SMALL(__nv_bfloat16, __nv_bfloat16_raw, bfloat_to_float, float_to_bfloat)
#undef KWEMU_SMALL
typedef __half half;
typedef __half2 half2;
typedef __nv_bfloat16 nv_bfloat16;
typedef __nv_bfloat162 nv_bfloat162;

inline __half __float2half(float f) { return __half(f); }
inline __half __float2half_rn(float f) { return __half(f); }
inline __half __float2half_rz(float f) { return __half_raw{kwemu::float_to_half(f, kwemu::TO_ZERO)}; }
inline __half __float2half_rd(float f) { return __half_raw{kwemu::float_to_half(f, kwemu::DOWN)}; }
inline __half __float2half_ru(float f) { return __half_raw{kwemu::float_to_half(f, kwemu::UP)}; }
inline __half __double2half(double f) { return __half(float(f)); }
inline float __half2float(__half h) { return h; }
inline __half2 __float2half2_rn(float f) { return {__half(f), __half(f)}; }
inline __half2 __floats2half2_rn(float a, float b) { return {__half(a), __half(b)}; }
inline __half2 __float22half2_rn(float2 f) { return {__half(f.x), __half(f.y)}; }
inline float2 __half22float2(__half2 h) { return {h.x, h.y}; }
inline __half2 __half2half2(__half h) { return {h, h}; }
inline __half2 __halves2half2(__half a, __half b) { return {a, b}; }
inline __half2 make_half2(__half a, __half b) { return {a, b}; }
inline __half __low2half(__half2 h) { return h.x; }
inline __half __high2half(__half2 h) { return h.y; }
inline float __low2float(__half2 h) { return h.x; }
inline float __high2float(__half2 h) { return h.y; }
inline unsigned short __half_as_ushort(__half h) { return h.__x; }
inline __half __ushort_as_half(unsigned short x) { return __half_raw{x}; }
inline short __half_as_short(__half h) { return short(h.__x); }
inline __nv_bfloat16 __float2bfloat16(float f) { return __nv_bfloat16(f); }
inline __nv_bfloat16 __float2bfloat16_rn(float f) { return __nv_bfloat16(f); }
inline __nv_bfloat16 __float2bfloat16_rz(float f) { return __nv_bfloat16_raw{kwemu::float_to_bfloat(f, kwemu::TO_ZERO)}; }
inline __nv_bfloat16 __double2bfloat16(double f) { return __nv_bfloat16(float(f)); }
inline float __bfloat162float(__nv_bfloat16 b) { return b; }
inline __nv_bfloat162 __float2bfloat162_rn(float f) { return {__nv_bfloat16(f), __nv_bfloat16(f)}; }
inline __nv_bfloat162 __floats2bfloat162_rn(float a, float b) { return {__nv_bfloat16(a), __nv_bfloat16(b)}; }
inline __nv_bfloat162 __float22bfloat162_rn(float2 f) { return {__nv_bfloat16(f.x), __nv_bfloat16(f.y)}; }
inline float2 __bfloat1622float2(__nv_bfloat162 b) { return {b.x, b.y}; }
inline __nv_bfloat162 __bfloat162bfloat162(__nv_bfloat16 b) { return {b, b}; }
inline __nv_bfloat162 __halves2bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline __nv_bfloat162 make_bfloat162(__nv_bfloat16 a, __nv_bfloat16 b) { return {a, b}; }
inline __nv_bfloat16 __low2bfloat16(__nv_bfloat162 b) { return b.x; }
inline __nv_bfloat16 __high2bfloat16(__nv_bfloat162 b) { return b.y; }
inline float __low2float(__nv_bfloat162 b) { return b.x; }
inline float __high2float(__nv_bfloat162 b) { return b.y; }
inline unsigned short __bfloat16_as_ushort(__nv_bfloat16 b) { return b.__x; }
inline __nv_bfloat16 __ushort_as_bfloat16(unsigned short x) { return __nv_bfloat16_raw{x}; }
