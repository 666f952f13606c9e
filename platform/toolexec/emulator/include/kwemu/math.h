/* Intrinsics of numbers and bits, and min/max as CUDA overloads them. The fast ones are as exact here as the others. */
#pragma once
#include "loads.h"

#define KWEMU_MINMAX(A, B, R)                            \
  constexpr R min(A a, B b) { return (R)a < (R)b ? (R)a : (R)b; } \
  constexpr R max(A a, B b) { return (R)a < (R)b ? (R)b : (R)a; }
KWEMU_MINMAX(int, int, int)
KWEMU_MINMAX(unsigned, unsigned, unsigned)
KWEMU_MINMAX(int, unsigned, unsigned)
KWEMU_MINMAX(unsigned, int, unsigned)
KWEMU_MINMAX(long, long, long)
KWEMU_MINMAX(unsigned long, unsigned long, unsigned long)
KWEMU_MINMAX(long long, long long, long long)
KWEMU_MINMAX(unsigned long long, unsigned long long, unsigned long long)
KWEMU_MINMAX(long, int, long)
KWEMU_MINMAX(int, long, long)
KWEMU_MINMAX(long long, int, long long)
KWEMU_MINMAX(int, long long, long long)
KWEMU_MINMAX(unsigned long, unsigned, unsigned long)
KWEMU_MINMAX(unsigned, unsigned long, unsigned long)
#undef KWEMU_MINMAX
inline float min(float a, float b) { return fminf(a, b); }
inline float max(float a, float b) { return fmaxf(a, b); }
inline double min(double a, double b) { return fmin(a, b); }
inline double max(double a, double b) { return fmax(a, b); }
inline double min(float a, double b) { return fmin(a, b); }
inline double min(double a, float b) { return fmin(a, b); }
inline double max(float a, double b) { return fmax(a, b); }
inline double max(double a, float b) { return fmax(a, b); }
using std::abs;
using std::isfinite;
using std::isinf;
using std::isnan;

inline float __expf(float x) { return expf(x); }
inline float __exp10f(float x) { return powf(10.0f, x); }
inline float __logf(float x) { return logf(x); }
inline float __log2f(float x) { return log2f(x); }
inline float __log10f(float x) { return log10f(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __tanf(float x) { return tanf(x); }
inline float __tanhf(float x) { return tanhf(x); }
inline void __sincosf(float x, float* s, float* c) { *s = sinf(x), *c = cosf(x); }
inline float __fdividef(float a, float b) { return a / b; }
inline float fdividef(float a, float b) { return a / b; }
inline float __frcp_rn(float x) { return 1.0f / x; }
inline float __fsqrt_rn(float x) { return sqrtf(x); }
inline float __frsqrt_rn(float x) { return float(1.0 / sqrt(double(x))); }
inline float rsqrtf(float x) { return float(1.0 / sqrt(double(x))); }
inline double rsqrt(double x) { return 1.0 / sqrt(x); }
inline float rsqrt(float x) { return rsqrtf(x); }
inline float rcbrtf(float x) { return 1.0f / cbrtf(x); }
inline float __saturatef(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
inline float normcdff(float x) { return 0.5f * erfcf(-x * 0.70710678118654752f); }
inline double normcdf(double x) { return 0.5 * erfc(-x * 0.70710678118654752); }
inline float sinpif(float x) { return float(sin(3.14159265358979323846 * fmod(x, 2.0))); }
inline float cospif(float x) { return float(cos(3.14159265358979323846 * fmod(x, 2.0))); }
inline float norm3df(float a, float b, float c) { return sqrtf(a * a + b * b + c * c); }
inline float rnorm3df(float a, float b, float c) { return 1.0f / norm3df(a, b, c); }
#define KWEMU_ROUNDED(suffix)                                                                            \
  inline float __fadd_##suffix(float a, float b) { return a + b; }                                       \
  inline float __fsub_##suffix(float a, float b) { return a - b; }                                       \
  inline float __fmul_##suffix(float a, float b) { return a * b; }                                       \
  inline float __fdiv_##suffix(float a, float b) { return a / b; }                                       \
  inline float __fmaf_##suffix(float a, float b, float c) { return fmaf(a, b, c); }                      \
  inline double __dadd_##suffix(double a, double b) { return a + b; }                                    \
  inline double __dmul_##suffix(double a, double b) { return a * b; }                                    \
  inline double __fma_##suffix(double a, double b, double c) { return fma(a, b, c); }
KWEMU_ROUNDED(rn)
#undef KWEMU_ROUNDED
inline double __dsub_rn(double a, double b) { return a - b; }
inline double __ddiv_rn(double a, double b) { return a / b; }
inline double __drcp_rn(double a) { return 1.0 / a; }
inline double __dsqrt_rn(double a) { return sqrt(a); }

namespace kwemu {
template <class I>
I to_integer(double x, bool from_double = false) {  // CUDA clamps, and NaN becomes 0, or the lowest number of 64 bits or from double
  double low = double(std::is_signed_v<I> ? -ldexp(1.0, sizeof(I) * 8 - 1) : 0.0), high = ldexp(1.0, sizeof(I) * 8 - std::is_signed_v<I>);
  if (std::isnan(x)) return from_double || sizeof(I) == 8 ? I(I(1) << (sizeof(I) * 8 - 1)) : I(0);
  return x <= low ? I(low) : x >= high ? I(~I(0)) ^ (std::is_signed_v<I> ? I(I(1) << (sizeof(I) * 8 - 1)) : I(0)) : I(x);
}
}  // namespace kwemu
#define KWEMU_CONVERT(name, F, I)                                                \
  inline I __##name##_rn(F x) { return kwemu::to_integer<I>(rint(double(x)), sizeof(F) == 8); }  \
  inline I __##name##_rz(F x) { return kwemu::to_integer<I>(trunc(double(x)), sizeof(F) == 8); } \
  inline I __##name##_rd(F x) { return kwemu::to_integer<I>(floor(double(x)), sizeof(F) == 8); } \
  inline I __##name##_ru(F x) { return kwemu::to_integer<I>(ceil(double(x)), sizeof(F) == 8); }
KWEMU_CONVERT(float2int, float, int)
KWEMU_CONVERT(float2uint, float, unsigned)
KWEMU_CONVERT(float2ll, float, long long)
KWEMU_CONVERT(float2ull, float, unsigned long long)
KWEMU_CONVERT(double2int, double, int)
KWEMU_CONVERT(double2uint, double, unsigned)
KWEMU_CONVERT(double2ll, double, long long)
KWEMU_CONVERT(double2ull, double, unsigned long long)
#undef KWEMU_CONVERT
inline float __int2float_rn(int x) { return float(x); }
inline float __uint2float_rn(unsigned x) { return float(x); }
inline float __ll2float_rn(long long x) { return float(x); }
inline float __ull2float_rn(unsigned long long x) { return float(x); }
inline double __int2double_rn(int x) { return x; }
inline double __uint2double_rn(unsigned x) { return x; }
inline double __ll2double_rn(long long x) { return double(x); }
inline double __ull2double_rn(unsigned long long x) { return double(x); }
inline float __double2float_rn(double x) { return float(x); }
inline int __float_as_int(float x) { return __builtin_bit_cast(int, x); }
inline unsigned __float_as_uint(float x) { return __builtin_bit_cast(unsigned, x); }
inline float __int_as_float(int x) { return __builtin_bit_cast(float, x); }
inline float __uint_as_float(unsigned x) { return __builtin_bit_cast(float, x); }
inline long long __double_as_longlong(double x) { return __builtin_bit_cast(long long, x); }
inline double __longlong_as_double(long long x) { return __builtin_bit_cast(double, x); }

inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __brev(unsigned x) {
  unsigned r = 0;
  for (int i = 0; i < 32; i++) r |= (x >> i & 1) << (31 - i);
  return r;
}
inline unsigned __fns(unsigned mask, unsigned base, int offset) {
  int step = offset < 0 ? -1 : 1, left = offset < 0 ? -offset : offset;
  for (int i = int(base); i >= 0 && i < 32; i += step)
    if (mask >> i & 1 && --left <= 0) return unsigned(i);
  return 0xffffffffu;
}
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline int __mulhi(int a, int b) { return int((long long)a * b >> 32); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) { return (unsigned long long)((unsigned __int128)a * b >> 64); }
inline int __mul24(int a, int b) { return int(unsigned((a << 8 >> 8)) * unsigned(b << 8 >> 8)); }
inline unsigned __umul24(unsigned a, unsigned b) { return (a & 0xffffff) * (b & 0xffffff); }
inline unsigned __sad(int a, int b, unsigned c) { return c + unsigned(a > b ? a - b : b - a); }
inline int __hadd(int a, int b) { return int(((long long)a + b) >> 1); }
inline unsigned __funnelshift_l(unsigned lo, unsigned hi, unsigned n) { return unsigned((((unsigned long long)hi << 32 | lo) << (n & 31)) >> 32); }
inline unsigned __funnelshift_r(unsigned lo, unsigned hi, unsigned n) { return unsigned(((unsigned long long)hi << 32 | lo) >> (n & 31)); }
inline unsigned __byte_perm(unsigned a, unsigned b, unsigned s) {
  unsigned long long both = (unsigned long long)b << 32 | a;
  unsigned r = 0;
  for (int i = 0; i < 4; i++) {
    unsigned pick = s >> (4 * i), byte = unsigned(both >> (8 * (pick & 7))) & 255;
    r |= (pick & 8 ? (byte & 128 ? 255u : 0u) : byte) << (8 * i);
  }
  return r;
}
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++) c += int((signed char)(a >> 8 * i)) * int((signed char)(b >> 8 * i));
  return c;
}
inline unsigned __dp4a(unsigned a, unsigned b, unsigned c) {
  for (int i = 0; i < 4; i++) c += (a >> 8 * i & 255) * (b >> 8 * i & 255);
  return c;
}
inline int __dp2a_lo(int a, int b, int c) { return c + int(short(a)) * int((signed char)b) + int(short(a >> 16)) * int((signed char)(b >> 8)); }
inline int __dp2a_hi(int a, int b, int c) { return __dp2a_lo(a, b >> 16, c); }
inline unsigned umin(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned umax(unsigned a, unsigned b) { return a < b ? b : a; }
inline long long llmin(long long a, long long b) { return a < b ? a : b; }
inline long long llmax(long long a, long long b) { return a < b ? b : a; }
inline unsigned long long ullmin(unsigned long long a, unsigned long long b) { return a < b ? a : b; }
inline unsigned long long ullmax(unsigned long long a, unsigned long long b) { return a < b ? b : a; }
inline void __assume(bool) {}
