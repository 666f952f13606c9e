/* Arithmetic and conversions that are rounded to zero, down or up, and functions of numbers that C has not. */
#pragma once
#include <cfenv>
#include "math.h"

namespace kwemu {
/* While it lives the processor rounds so; what is computed meanwhile comes from veiled(), so that it is computed then. */
struct Rounded {
  int before = std::fegetround();
  explicit Rounded(int mode) { std::fesetround(mode); }
  ~Rounded() { std::fesetround(before); }
};
template <class T>
KWEMU_UNSEEN inline T veiled(T v) {
  volatile T held = v;
  return held;
}
}  // namespace kwemu
#define KWEMU_DIRECTED(name, T, parameters, ...)                     \
  KWEMU_DIRECTED_ONE(name##_rz, FE_TOWARDZERO, T, parameters, __VA_ARGS__) \
  KWEMU_DIRECTED_ONE(name##_rd, FE_DOWNWARD, T, parameters, __VA_ARGS__)   \
  KWEMU_DIRECTED_ONE(name##_ru, FE_UPWARD, T, parameters, __VA_ARGS__)
#define KWEMU_DIRECTED_ONE(name, mode, T, parameters, ...) \
  template <class = void>                                 \
  KWEMU_BARE T name parameters {                          \
    kwemu::Rounded rounded(mode);                         \
    volatile T made = T(__VA_ARGS__);                     \
    return made;                                          \
  }
#define KWEMU_DIRECTED_TYPE(T, f, fused, root)                                                           \
  KWEMU_DIRECTED(__##f##add, T, (T a, T b), kwemu::veiled(a) + kwemu::veiled(b))                         \
  KWEMU_DIRECTED(__##f##sub, T, (T a, T b), kwemu::veiled(a) - kwemu::veiled(b))                         \
  KWEMU_DIRECTED(__##f##mul, T, (T a, T b), kwemu::veiled(a) * kwemu::veiled(b))                         \
  KWEMU_DIRECTED(__##f##div, T, (T a, T b), kwemu::veiled(a) / kwemu::veiled(b))                         \
  KWEMU_DIRECTED(__##f##rcp, T, (T a), T(1) / kwemu::veiled(a))                                          \
  KWEMU_DIRECTED(__##f##sqrt, T, (T a), root(kwemu::veiled(a)))                                          \
  KWEMU_DIRECTED(__##fused, T, (T a, T b, T c), fused(kwemu::veiled(a), kwemu::veiled(b), kwemu::veiled(c)))
KWEMU_DIRECTED_TYPE(float, f, fmaf, sqrtf)
KWEMU_DIRECTED_TYPE(double, d, fma, sqrt)
KWEMU_DIRECTED(__int2float, float, (int a), kwemu::veiled(a))
KWEMU_DIRECTED(__uint2float, float, (unsigned a), kwemu::veiled(a))
KWEMU_DIRECTED(__ll2float, float, (long long a), kwemu::veiled(a))
KWEMU_DIRECTED(__ll2double, double, (long long a), kwemu::veiled(a))
KWEMU_DIRECTED(__double2float, float, (double a), kwemu::veiled(a))
#undef KWEMU_DIRECTED_TYPE
#undef KWEMU_DIRECTED
#undef KWEMU_DIRECTED_ONE
namespace kwemu {
/* Unsigned 64 bits, which no instruction of the processor converts in one step. */
template <class T>
inline T from_wide(unsigned long long a, int mode) {
  T near = T(a);
  bool exact = near < T(18446744073709551616.0) && (unsigned long long)near == a;
  if (exact) return near;
  bool above = near >= T(18446744073709551616.0) || (unsigned long long)near > a;
  if (mode == FE_UPWARD) return above ? near : std::nextafter(near, T(INFINITY));
  return above ? std::nextafter(near, T(0)) : near;
}
}  // namespace kwemu
inline float __ull2float_rz(unsigned long long a) { return kwemu::from_wide<float>(a, FE_TOWARDZERO); }
inline float __ull2float_rd(unsigned long long a) { return kwemu::from_wide<float>(a, FE_DOWNWARD); }
inline float __ull2float_ru(unsigned long long a) { return kwemu::from_wide<float>(a, FE_UPWARD); }
inline double __ull2double_rz(unsigned long long a) { return kwemu::from_wide<double>(a, FE_TOWARDZERO); }
inline double __ull2double_rd(unsigned long long a) { return kwemu::from_wide<double>(a, FE_DOWNWARD); }
inline double __ull2double_ru(unsigned long long a) { return kwemu::from_wide<double>(a, FE_UPWARD); }

inline int __double2hiint(double x) { return int(__double_as_longlong(x) >> 32); }
inline int __double2loint(double x) { return int(__double_as_longlong(x)); }
inline double __hiloint2double(int high, int low) { return __longlong_as_double((long long)high << 32 | unsigned(low)); }
inline unsigned long long __brevll(unsigned long long x) { return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32)); }
inline long long __mul64hi(long long a, long long b) { return (long long)((__int128)a * b >> 64); }
inline int __rhadd(int a, int b) { return int(((long long)a + b + 1) >> 1); }
inline unsigned __uhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)a + b) >> 1); }
inline unsigned __urhadd(unsigned a, unsigned b) { return unsigned(((unsigned long long)a + b + 1) >> 1); }
inline unsigned __usad(unsigned a, unsigned b, unsigned c) { return c + (a > b ? a - b : b - a); }

inline double sinpi(double x) { return sin(3.14159265358979323846 * fmod(x, 2.0)); }
inline double cospi(double x) { return cos(3.14159265358979323846 * fmod(x, 2.0)); }
inline void sincospi(double x, double* s, double* c) { *s = sinpi(x), *c = cospi(x); }
inline void sincospif(float x, float* s, float* c) { *s = sinpif(x), *c = cospif(x); }
inline double rcbrt(double x) { return 1.0 / cbrt(x); }
inline double rhypot(double a, double b) { return 1.0 / hypot(a, b); }
inline float rhypotf(float a, float b) { return 1.0f / hypotf(a, b); }
inline double norm(int n, const double* p) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += p[i] * p[i];
  return sqrt(sum);
}
inline float normf(int n, const float* p) {
  double sum = 0;
  for (int i = 0; i < n; i++) sum += double(p[i]) * p[i];
  return float(sqrt(sum));
}
inline double rnorm(int n, const double* p) { return 1.0 / norm(n, p); }
inline float rnormf(int n, const float* p) { return 1.0f / normf(n, p); }
inline double norm3d(double a, double b, double c) { return sqrt(a * a + b * b + c * c); }
inline double rnorm3d(double a, double b, double c) { return 1.0 / norm3d(a, b, c); }
inline double norm4d(double a, double b, double c, double d) { return sqrt(a * a + b * b + c * c + d * d); }
inline double rnorm4d(double a, double b, double c, double d) { return 1.0 / norm4d(a, b, c, d); }
inline float norm4df(float a, float b, float c, float d) { return float(norm4d(a, b, c, d)); }
inline float rnorm4df(float a, float b, float c, float d) { return 1.0f / norm4df(a, b, c, d); }
/* By Newton's steps from Winitzki's approximation (2008, with its a = 0.147). */
inline double erfinv(double x) {
  if (!(fabs(x) < 1.0)) return fabs(x) == 1.0 ? x * INFINITY : NAN;
  double w = -log((1.0 - x) * (1.0 + x)), a = 2.0 / (3.14159265358979323846 * 0.147) + 0.5 * -w;
  double y = copysign(sqrt(sqrt(a * a + w / 0.147) - a), x);
  for (int i = 0; i < 4; i++) y -= (y > 0 ? (1.0 - x) - erfc(y) : erfc(-y) - (1.0 + x)) / (1.1283791670955126 * exp(-y * y));
  return y;
}
inline double erfcinv(double x) {
  if (x > 0.0625 || !(x > 0.0)) return x == 0.0 ? INFINITY : erfinv(1.0 - x);
  double y = sqrt(-log(x * sqrt(-3.14159265358979323846 * log(x))));
  for (int i = 0; i < 8; i++) y += (erfc(y) - x) / (1.1283791670955126 * exp(-y * y));
  return y;
}
inline float erfinvf(float x) { return float(erfinv(x)); }
inline float erfcinvf(float x) { return float(erfcinv(x)); }
inline double normcdfinv(double x) { return -1.4142135623730951 * erfcinv(2.0 * x); }
inline float normcdfinvf(float x) { return float(normcdfinv(x)); }
inline double erfcx(double x) { return x < 25.0 ? exp(x * x) * erfc(x) : 0.56418958354775629 / x * (1.0 - 0.5 / (x * x)); }
inline float erfcxf(float x) { return float(erfcx(x)); }
