/* What cuda_fp16.h and cuda_bf16.h have beside arithmetic: saturation, comparisons, rounding to and from integers, functions
 * of one number and of pairs. Owns their names; half.h has the types. */
#pragma once
#include "math.h"

namespace kwemu {
/* An integer as a float whose last bit tells whether something was cut off: rounded once more it is rounded right. */
template <class I>
inline float odd_float(I v) {
  unsigned long long all = (unsigned long long)v;
  bool negative = std::is_signed_v<I> && v < 0;
  if (negative) all = 0 - all;
  int cut = all ? 40 - __builtin_clzll(all) : 0;
  if (cut > 0) all = (all >> cut | ((all & ((1ull << cut) - 1)) != 0));
  float f = ldexpf(float(all), cut > 0 ? cut : 0);
  return negative ? -f : f;
}
template <class I>
inline I rounded_integer(float f, Rounding mode) {
  if (std::isnan(f)) return sizeof(I) == 8 ? I(1ull << 63) : I(0);
  return to_integer<I>(mode == NEAREST ? rintf(f) : mode == TO_ZERO ? truncf(f) : mode == DOWN ? floorf(f) : ceilf(f));
}
inline float saturated(float f) { return f > 0.0f ? (f < 1.0f ? f : 1.0f) : 0.0f; }
inline float not_negative(float f) { return std::isnan(f) ? NAN : f > 0.0f ? f : 0.0f; }
}  // namespace kwemu

#define KWEMU_INTEGERS(T, raw, from, name, word, I)                                                                     \
  inline I __##name##2##word##_rn(T a) { return kwemu::rounded_integer<I>(a, kwemu::NEAREST); }                         \
  inline I __##name##2##word##_rz(T a) { return kwemu::rounded_integer<I>(a, kwemu::TO_ZERO); }                         \
  inline I __##name##2##word##_rd(T a) { return kwemu::rounded_integer<I>(a, kwemu::DOWN); }                            \
  inline I __##name##2##word##_ru(T a) { return kwemu::rounded_integer<I>(a, kwemu::UP); }                              \
  inline T __##word##2##name##_rn(I i) { return raw{kwemu::from(kwemu::odd_float(i), kwemu::NEAREST)}; }                \
  inline T __##word##2##name##_rz(I i) { return raw{kwemu::from(kwemu::odd_float(i), kwemu::TO_ZERO)}; }                \
  inline T __##word##2##name##_rd(I i) { return raw{kwemu::from(kwemu::odd_float(i), kwemu::DOWN)}; }                   \
  inline T __##word##2##name##_ru(I i) { return raw{kwemu::from(kwemu::odd_float(i), kwemu::UP)}; }
/* A comparison of halves, of pairs as numbers, as masks and as one answer; u: also where one is not a number. */
#define KWEMU_COMPARISON(T, name, expression)                                                                           \
  inline bool __h##name##u(T a, T b) { return __hisnan(a) || __hisnan(b) || (expression); }                             \
  KWEMU_COMPARISON_OF_PAIRS(T, name)                                                                                    \
  KWEMU_COMPARISON_OF_PAIRS(T, name##u)
#define KWEMU_COMPARISON_OF_PAIRS(T, name)                                                                              \
  inline T##2 __h##name##2(T##2 a, T##2 b) { return {T(float(__h##name(a.x, b.x))), T(float(__h##name(a.y, b.y)))}; }   \
  inline bool __hb##name##2(T##2 a, T##2 b) { return __h##name(a.x, b.x) && __h##name(a.y, b.y); }                      \
  inline unsigned __h##name##2_mask(T##2 a, T##2 b) { return (__h##name(a.x, b.x) ? 0xffffu : 0u) | (__h##name(a.y, b.y) ? 0xffff0000u : 0u); }
#define KWEMU_OF_TWO(T, name)                                                                                           \
  inline T __h##name##_rn(T a, T b) { return __h##name(a, b); }                                                         \
  inline T __h##name##_sat(T a, T b) { return T(kwemu::saturated(__h##name(a, b))); }                                   \
  inline T##2 __h##name##2_rn(T##2 a, T##2 b) { return __h##name##2(a, b); }                                            \
  inline T##2 __h##name##2_sat(T##2 a, T##2 b) { return {__h##name##_sat(a.x, b.x), __h##name##_sat(a.y, b.y)}; }
#define KWEMU_OF_ONE(T, name, expression)                                                                               \
  inline T h##name(T a) { float f = a; return T(float(expression)); }                                                   \
  KWEMU_PAIR_OF_ONE(T, name)
#define KWEMU_PAIR_OF_ONE(T, name)                                                                                      \
  inline T##2 h2##name(T##2 a) { return {h##name(a.x), h##name(a.y)}; }

#define KWEMU_MORE(T, raw, from, name)                                                                                  \
  KWEMU_INTEGERS(T, raw, from, name, int, int)                                                                          \
  KWEMU_INTEGERS(T, raw, from, name, uint, unsigned)                                                                    \
  KWEMU_INTEGERS(T, raw, from, name, short, short)                                                                      \
  KWEMU_INTEGERS(T, raw, from, name, ushort, unsigned short)                                                            \
  KWEMU_INTEGERS(T, raw, from, name, ll, long long)                                                                     \
  KWEMU_INTEGERS(T, raw, from, name, ull, unsigned long long)                                                           \
  inline signed char __##name##2char_rz(T a) { return kwemu::rounded_integer<signed char>(a, kwemu::TO_ZERO); }         \
  inline unsigned char __##name##2uchar_rz(T a) { return kwemu::rounded_integer<unsigned char>(a, kwemu::TO_ZERO); }    \
  KWEMU_COMPARISON(T, eq, a == b)                                                                                       \
  KWEMU_COMPARISON(T, ne, a != b)                                                                                       \
  KWEMU_COMPARISON(T, lt, a < b)                                                                                        \
  KWEMU_COMPARISON(T, le, a <= b)                                                                                       \
  KWEMU_COMPARISON(T, gt, a > b)                                                                                        \
  KWEMU_COMPARISON(T, ge, a >= b)                                                                                       \
  KWEMU_OF_TWO(T, add)                                                                                                  \
  KWEMU_OF_TWO(T, sub)                                                                                                  \
  KWEMU_OF_TWO(T, mul)                                                                                                  \
  inline T __hfma_sat(T a, T b, T c) { return T(kwemu::saturated(__hfma(a, b, c))); }                                   \
  inline T __hfma_relu(T a, T b, T c) { return T(kwemu::not_negative(__hfma(a, b, c))); }                               \
  inline T __hmax_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? T(NAN) : __hmax(a, b); }                          \
  inline T __hmin_nan(T a, T b) { return __hisnan(a) || __hisnan(b) ? T(NAN) : __hmin(a, b); }                          \
  inline T##2 __hfma2_sat(T##2 a, T##2 b, T##2 c) { return {__hfma_sat(a.x, b.x, c.x), __hfma_sat(a.y, b.y, c.y)}; }    \
  inline T##2 __hfma2_relu(T##2 a, T##2 b, T##2 c) { return {__hfma_relu(a.x, b.x, c.x), __hfma_relu(a.y, b.y, c.y)}; } \
  inline T##2 __hmax2_nan(T##2 a, T##2 b) { return {__hmax_nan(a.x, b.x), __hmax_nan(a.y, b.y)}; }                      \
  inline T##2 __hmin2_nan(T##2 a, T##2 b) { return {__hmin_nan(a.x, b.x), __hmin_nan(a.y, b.y)}; }                      \
  inline T##2 __habs2(T##2 a) { return {__habs(a.x), __habs(a.y)}; }                                                    \
  inline T##2 __hisnan2(T##2 a) { return {T(float(__hisnan(a.x))), T(float(__hisnan(a.y)))}; }                          \
  inline T##2 __lowhigh2highlow(T##2 a) { return {a.y, a.x}; }                                                          \
  inline T##2 __hcmadd(T##2 a, T##2 b, T##2 c) {                                                                        \
    return {__hfma(-a.y, b.y, __hfma(a.x, b.x, c.x)), __hfma(a.y, b.x, __hfma(a.x, b.y, c.y))};                         \
  }                                                                                                                     \
  KWEMU_OF_ONE(T, ceil, ceilf(f))                                                                                       \
  KWEMU_OF_ONE(T, floor, floorf(f))                                                                                     \
  KWEMU_OF_ONE(T, trunc, truncf(f))                                                                                     \
  KWEMU_OF_ONE(T, rint, rintf(f))                                                                                       \
  KWEMU_OF_ONE(T, exp10, exp10f(f))                                                                                     \
  KWEMU_OF_ONE(T, log2, log2f(f))                                                                                       \
  KWEMU_OF_ONE(T, log10, log10f(f))                                                                                     \
  KWEMU_OF_ONE(T, tanh_approx, tanhf(f))                                                                                \
  KWEMU_PAIR_OF_ONE(T, exp)                                                                                             \
  KWEMU_PAIR_OF_ONE(T, exp2)                                                                                            \
  KWEMU_PAIR_OF_ONE(T, log)                                                                                             \
  KWEMU_PAIR_OF_ONE(T, sqrt)                                                                                            \
  KWEMU_PAIR_OF_ONE(T, rsqrt)                                                                                           \
  KWEMU_PAIR_OF_ONE(T, rcp)                                                                                             \
  KWEMU_PAIR_OF_ONE(T, sin)                                                                                             \
  KWEMU_PAIR_OF_ONE(T, cos)                                                                                             \
  KWEMU_PAIR_OF_ONE(T, tanh)
KWEMU_MORE(__half, __half_raw, float_to_half, half)
KWEMU_MORE(__nv_bfloat16, __nv_bfloat16_raw, float_to_bfloat, bfloat16)
#undef KWEMU_MORE
#undef KWEMU_OF_ONE
#undef KWEMU_PAIR_OF_ONE
#undef KWEMU_OF_TWO
#undef KWEMU_COMPARISON
#undef KWEMU_COMPARISON_OF_PAIRS
#undef KWEMU_INTEGERS

inline __half __short_as_half(short x) { return __half_raw{(unsigned short)x}; }
inline __half2 __low2half2(__half2 a) { return {a.x, a.x}; }
inline __half2 __high2half2(__half2 a) { return {a.y, a.y}; }
inline __half2 __lows2half2(__half2 a, __half2 b) { return {a.x, b.x}; }
inline __half2 __highs2half2(__half2 a, __half2 b) { return {a.y, b.y}; }
inline __nv_bfloat16 __short_as_bfloat16(short x) { return __nv_bfloat16_raw{(unsigned short)x}; }
inline short __bfloat16_as_short(__nv_bfloat16 a) { return short(a.__x); }
inline __nv_bfloat16 __float2bfloat16_rd(float f) { return __nv_bfloat16_raw{kwemu::float_to_bfloat(f, kwemu::DOWN)}; }
inline __nv_bfloat16 __float2bfloat16_ru(float f) { return __nv_bfloat16_raw{kwemu::float_to_bfloat(f, kwemu::UP)}; }
inline __nv_bfloat162 __low2bfloat162(__nv_bfloat162 a) { return {a.x, a.x}; }
inline __nv_bfloat162 __high2bfloat162(__nv_bfloat162 a) { return {a.y, a.y}; }
inline __nv_bfloat162 __lows2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.x, b.x}; }
inline __nv_bfloat162 __highs2bfloat162(__nv_bfloat162 a, __nv_bfloat162 b) { return {a.y, b.y}; }
