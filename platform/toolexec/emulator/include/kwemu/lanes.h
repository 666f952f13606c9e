/* Bytes and half words of a register, each on its own, and the additions with a minimum or maximum of dynamic programs. */
#pragma once
#include "math.h"

#define KWEMU_LANES(name, bits, T, expression)                             \
  inline unsigned name(unsigned x, unsigned y) {                           \
    unsigned made = 0, low = (1u << bits) - 1;                             \
    for (int i = 0; i < 32; i += bits) {                                   \
      T a = T(x >> i & low), b = T(y >> i & low);                          \
      made |= (unsigned(expression) & low) << i;                           \
    }                                                                      \
    return made;                                                           \
  }
#define KWEMU_BOTH_WIDTHS(name, T4, T2, expression) KWEMU_LANES(name##4, 8, T4, expression) KWEMU_LANES(name##2, 16, T2, expression)
#define KWEMU_UNSIGNED(name, expression) KWEMU_BOTH_WIDTHS(name, uint8_t, uint16_t, expression)
#define KWEMU_SIGNED(name, expression) KWEMU_BOTH_WIDTHS(name, int8_t, int16_t, expression)
#define KWEMU_COMPARED(name, condition_u, condition_s)      \
  KWEMU_UNSIGNED(__vcmp##name##u, condition_u ? ~0u : 0u)   \
  KWEMU_SIGNED(__vcmp##name##s, condition_s ? ~0u : 0u)     \
  KWEMU_UNSIGNED(__vset##name##u, condition_u ? 1u : 0u)    \
  KWEMU_SIGNED(__vset##name##s, condition_s ? 1u : 0u)
namespace kwemu {
template <class T>
constexpr int clamped(int x) {
  return x < int(std::is_signed_v<T> ? -(1 << (sizeof(T) * 8 - 1)) : 0) ? (std::is_signed_v<T> ? -(1 << (sizeof(T) * 8 - 1)) : 0)
         : x > (1 << (sizeof(T) * 8 - std::is_signed_v<T>)) - 1        ? (1 << (sizeof(T) * 8 - std::is_signed_v<T>)) - 1
                                                                       : x;
}
}  // namespace kwemu
KWEMU_UNSIGNED(__vadd, a + b)
KWEMU_UNSIGNED(__vsub, a - b)
KWEMU_SIGNED(__vaddss, kwemu::clamped<decltype(a)>(a + b))
KWEMU_UNSIGNED(__vaddus, kwemu::clamped<decltype(a)>(a + b))
KWEMU_SIGNED(__vsubss, kwemu::clamped<decltype(a)>(a - b))
KWEMU_UNSIGNED(__vsubus, kwemu::clamped<decltype(a)>(a - b))
KWEMU_SIGNED(__vmaxs, a < b ? b : a)
KWEMU_SIGNED(__vmins, a < b ? a : b)
KWEMU_UNSIGNED(__vmaxu, a < b ? b : a)
KWEMU_UNSIGNED(__vminu, a < b ? a : b)
KWEMU_UNSIGNED(__vavgu, (a + b + 1) / 2)
KWEMU_SIGNED(__vavgs, (a + b + (a + b >= 0)) >> 1)
KWEMU_UNSIGNED(__vhaddu, (a + b) >> 1)
KWEMU_UNSIGNED(__vabsdiffu, a < b ? b - a : a - b)
KWEMU_SIGNED(__vabsdiffs, a < b ? b - a : a - b)
KWEMU_UNSIGNED(__vcmpeq, a == b ? ~0u : 0u)
KWEMU_UNSIGNED(__vcmpne, a != b ? ~0u : 0u)
KWEMU_UNSIGNED(__vseteq, a == b)
KWEMU_UNSIGNED(__vsetne, a != b)
KWEMU_COMPARED(gt, a > b, a > b)
KWEMU_COMPARED(ge, a >= b, a >= b)
KWEMU_COMPARED(lt, a < b, a < b)
KWEMU_COMPARED(le, a <= b, a <= b)
#define KWEMU_OF_ONE(name, expression)                                                                       \
  namespace kwemu { KWEMU_SIGNED(name, expression) }                                                         \
  inline unsigned __##name##4(unsigned x) { return kwemu::name##4(x, 0); }                                   \
  inline unsigned __##name##2(unsigned x) { return kwemu::name##2(x, 0); }
KWEMU_OF_ONE(vabs, a < 0 ? -a : a + b)
KWEMU_OF_ONE(vabsss, kwemu::clamped<decltype(a)>(a < 0 ? -a : a + b))
KWEMU_OF_ONE(vneg, b - a)
KWEMU_OF_ONE(vnegss, kwemu::clamped<decltype(a)>(b - a))
#undef KWEMU_OF_ONE
#define KWEMU_SUMMED(name, bits, T)                                            \
  inline unsigned name(unsigned x, unsigned y) {                               \
    unsigned sum = 0, low = (1u << bits) - 1;                                  \
    for (int i = 0; i < 32; i += bits) {                                       \
      int a = T(x >> i & low), b = T(y >> i & low);                            \
      sum += unsigned(a < b ? b - a : a - b);                                  \
    }                                                                          \
    return sum;                                                                \
  }
KWEMU_SUMMED(__vsads4, 8, int8_t)
KWEMU_SUMMED(__vsads2, 16, int16_t)
KWEMU_SUMMED(__vsadu4, 8, uint8_t)
KWEMU_SUMMED(__vsadu2, 16, uint16_t)
#undef KWEMU_SUMMED

/* R name_s32(..), and on both halves of a register; relu: and at least 0. */
namespace kwemu {
template <class T, class F>
inline unsigned each_half(unsigned x, unsigned y, unsigned z, F f) {
  return unsigned(uint16_t(f(T(x), T(y), T(z)))) | unsigned(uint16_t(f(T(x >> 16), T(y >> 16), T(z >> 16)))) << 16;
}
template <class T>
constexpr T least(T a, T b) { return a < b ? a : b; }
template <class T>
constexpr T most(T a, T b) { return a < b ? b : a; }
}  // namespace kwemu
#define KWEMU_THREE(name, expression)                                                                                                          \
  KWEMU_THREE_OF(name##_s32, int, int, expression)                                                                                             \
  KWEMU_THREE_OF(name##_s32_relu, int, int, kwemu::most(T(expression), T(0)))                                                                  \
  KWEMU_THREE_OF(name##_u32, unsigned, unsigned, expression)                                                                                   \
  KWEMU_THREE_IN(name##_s16x2, int16_t, expression)                                                                                            \
  KWEMU_THREE_IN(name##_s16x2_relu, int16_t, kwemu::most(T(expression), T(0)))                                                                 \
  KWEMU_THREE_IN(name##_u16x2, uint16_t, expression)
#define KWEMU_THREE_OF(name, R, type, expression)                                                                                              \
  inline R name(R a, R b, R c) { typedef type T; return R(expression); }
#define KWEMU_THREE_IN(name, type, expression)                                                                                                 \
  inline unsigned name(unsigned x, unsigned y, unsigned z) { typedef type T; return kwemu::each_half<T>(x, y, z, [](T a, T b, T c) { return T(expression); }); }
KWEMU_THREE(__viaddmax, kwemu::most(T(unsigned(a) + unsigned(b)), c))
KWEMU_THREE(__viaddmin, kwemu::least(T(unsigned(a) + unsigned(b)), c))
KWEMU_THREE(__vimax3, kwemu::most(kwemu::most(a, b), c))
KWEMU_THREE(__vimin3, kwemu::least(kwemu::least(a, b), c))
inline int __vimax_s32_relu(int a, int b) { return __vimax3_s32(a, b, 0); }
inline int __vimin_s32_relu(int a, int b) { return kwemu::most(kwemu::least(a, b), 0); }
inline unsigned __vimax_s16x2_relu(unsigned a, unsigned b) { return __vimax3_s16x2(a, b, 0); }
inline unsigned __vimin_s16x2_relu(unsigned a, unsigned b) { return __vmaxs2(__vmins2(a, b), 0); }
#define KWEMU_WHICH(name, relation, pick)                                                                                                      \
  inline int name##_s32(int a, int b, bool* first) { return *first = a relation b, pick(a, b); }                                               \
  inline unsigned name##_u32(unsigned a, unsigned b, bool* first) { return *first = a relation b, pick(a, b); }                                \
  inline unsigned name##_s16x2(unsigned a, unsigned b, bool* high, bool* low) {                                                                \
    return *high = int16_t(a >> 16) relation int16_t(b >> 16), *low = int16_t(a) relation int16_t(b),                                          \
           kwemu::each_half<int16_t>(a, b, 0, [](int16_t x, int16_t y, int16_t) { return pick(x, y); });                                       \
  }                                                                                                                                            \
  inline unsigned name##_u16x2(unsigned a, unsigned b, bool* high, bool* low) {                                                                \
    return *high = uint16_t(a >> 16) relation uint16_t(b >> 16), *low = uint16_t(a) relation uint16_t(b),                                      \
           kwemu::each_half<uint16_t>(a, b, 0, [](uint16_t x, uint16_t y, uint16_t) { return pick(x, y); });                                   \
  }
KWEMU_WHICH(__vibmax, >=, kwemu::most)
KWEMU_WHICH(__vibmin, <=, kwemu::least)
#undef KWEMU_WHICH
#undef KWEMU_THREE
#undef KWEMU_THREE_OF
#undef KWEMU_THREE_IN
#undef KWEMU_COMPARED
#undef KWEMU_SIGNED
#undef KWEMU_UNSIGNED
#undef KWEMU_BOTH_WIDTHS
#undef KWEMU_LANES
