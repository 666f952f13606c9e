/* PTX instructions as functions; ptx.py calls them. Matrices of tensor cores are computed from what all lanes hold. */
#pragma once
#include "loads.h"
#include "sync.h"

namespace kwemu {
namespace ptx {
template <class T>
KWEMU_BARE uint32_t get32(const T& v) {
  static_assert(sizeof(T) <= 4, "a 32-bit register");
  uint32_t bits = 0;
  std::memcpy(&bits, &v, sizeof v);
  return bits;
}
template <class T>
KWEMU_BARE void set32(T& v, uint32_t bits) {
  static_assert(sizeof(T) <= 4, "a 32-bit register");
  std::memcpy(&v, &bits, sizeof v);
}
template <class T>
inline void* global(T* p) { return const_cast<void*>(static_cast<const void*>(p)); }
inline void* global(unsigned long long a) { return reinterpret_cast<void*>(a); }
inline void* global(unsigned long a) { return reinterpret_cast<void*>(a); }
inline void* global(long long a) { return reinterpret_cast<void*>(a); }
inline void* global(long a) { return reinterpret_cast<void*>(a); }
inline void* in_shared(unsigned offset) { return kwemu_shared_pointer(offset); }

/* A load or store of count registers; seen by the checkers as one. */
template <class T>
KWEMU_BARE void read(T* to, const void* from, int count) {
  if (uintptr_t(from) & (sizeof(T) * count - 1)) kwemu_misaligned_at(from, unsigned(sizeof(T) * count), KWEMU_PC);
  kwemu_touch(from, sizeof(T) * count, 0, KWEMU_PC);
  std::memcpy(to, from, sizeof(T) * count);
}
template <class T>
KWEMU_BARE void write(void* to, const T* from, int count) {
  if (uintptr_t(to) & (sizeof(T) * count - 1)) kwemu_misaligned_at(to, unsigned(sizeof(T) * count), KWEMU_PC);
  kwemu_touch(to, sizeof(T) * count, 1, KWEMU_PC);
  std::memcpy(to, from, sizeof(T) * count);
}

/* A register as another type of its width, or as a number of another one. */
template <class T, class V>
inline T as(const V& v) {
  if constexpr (sizeof(T) == sizeof(V) && (std::is_floating_point_v<T> != std::is_floating_point_v<V> || !std::is_arithmetic_v<V>)) return __builtin_bit_cast(T, v);
  else return T(v);
}
template <class T, class V>
inline void put(T& to, const V& v) { to = as<T>(v); }
template <class T>
KWEMU_BARE T load_ordered(const void* p, int order) {
  kwemu_atomic(p, sizeof(T), 0, order, KWEMU_PC);
  T v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T>
KWEMU_BARE void store_ordered(void* p, T v, int order) {
  kwemu_atomic(p, sizeof(T), 2, order, KWEMU_PC);
  std::memcpy(p, &v, sizeof v);
}
template <class T, class F>
KWEMU_BARE T update(void* p, int order, F next) {
  kwemu_atomic(p, sizeof(T), 1, order, KWEMU_PC);
  T old;
  std::memcpy(&old, p, sizeof old);
  T made = next(old);
  std::memcpy(p, &made, sizeof made);
  return old;
}
inline uint32_t lop3(uint32_t a, uint32_t b, uint32_t c, unsigned table) {
  uint32_t made = 0;
  for (int i = 0; i < 8; i++)
    if (table >> i & 1) made |= (i & 4 ? a : ~a) & (i & 2 ? b : ~b) & (i & 1 ? c : ~c);
  return made;
}
template <class T>
inline T extract(T v, unsigned from, unsigned bits) {
  constexpr unsigned W = sizeof(T) * 8;
  from &= 255, bits &= 255;
  if (!bits) return 0;
  using U = std::make_unsigned_t<T>;
  bool sign = std::is_signed_v<T> && U(v) >> (from + bits - 1 < W ? from + bits - 1 : W - 1) & 1;
  U got = from < W ? U(v) >> from : 0;
  if (bits >= W) return T(got);
  U low = (U(1) << bits) - 1;
  return T(sign ? got | ~low : got & low);
}
inline uint32_t insert(uint32_t v, uint32_t into, unsigned from, unsigned bits) {
  if (!bits || from > 31) return into;
  uint32_t mask = (bits > 31 ? ~0u : (1u << bits) - 1) << from;
  return (into & ~mask) | (v << from & mask);
}
template <class T>
inline T shifted(T v, unsigned by) { return by >= sizeof(T) * 8 ? T(v < 0 ? -1 : 0) : T(v >> by); }

/* ldmatrix: lane 8 i + r gives the address of row r of matrix i; each lane receives a pair of each matrix. */
KWEMU_BARE void ldmatrix(uint32_t* out, unsigned row, int matrices, bool turned, int line, const char* file) {
  unsigned arrived, rows[32];
  Values all = kwemu_warp(COLLECTIVE, 0xffffffffu, row, &arrived, line, file);
  for (int i = 0; i < 32; i++) rows[i] = unsigned(all[i]);
  int lane = int(lane_id()), r = lane / 4, c = lane % 4 * 2;
  for (int m = 0; m < matrices; m++) {
    uint16_t pair[2];
    for (int e = 0; e < 2; e++) {
      const char* from = static_cast<const char*>(in_shared(rows[8 * m + (turned ? c + e : r)]));
      if (uintptr_t(from) & 15) kwemu_stop("misaligned", "a row of ldmatrix is no multiple of 16 bytes", line, file);
      from += 2 * (turned ? r : c + e);
      kwemu_touch(from, 2, 0, KWEMU_PC);
      std::memcpy(&pair[e], from, 2);
    }
    out[m] = pair[0] | uint32_t(pair[1]) << 16;
  }
}

struct F16 { static constexpr int each = 2; static float at(uint32_t r, int e) { return half_to_float(uint16_t(r >> 16 * e)); } };
struct BF16 { static constexpr int each = 2; static float at(uint32_t r, int e) { return bfloat_to_float(uint16_t(r >> 16 * e)); } };
struct TF32 { static constexpr int each = 1; static float at(uint32_t r, int) { return __builtin_bit_cast(float, r & 0xffffe000u); } };
struct S8 { static constexpr int each = 4; static int at(uint32_t r, int e) { return int8_t(r >> 8 * e); } };
struct U8 { static constexpr int each = 4; static int at(uint32_t r, int e) { return uint8_t(r >> 8 * e); } };
/* Floats of 8 bits: widened to a half's fields; e4m3 has no infinity, its exponent is biased by 8 less. */
struct E4M3 { static constexpr int each = 4; static float at(uint32_t r, int e) {
  unsigned code = r >> 8 * e & 255, size = code & 127;
  return half_to_float(uint16_t((code & 128) << 8 | (size == 127 ? 0x7fff : size << 7))) * 256;
} };
struct E5M2 { static constexpr int each = 4; static float at(uint32_t r, int e) { return half_to_float(uint16_t((r >> 8 * e & 255) << 8)); } };
enum Sum { SUM_F32, SUM_F16, SUM_S32 };

/* mma.sync m16n8k(4 each NB): rows 16, columns 8; products are summed exactly and rounded once. */
template <class A, class B, int NA, int NB, Sum S>
KWEMU_BARE void mma(uint32_t* d, const uint32_t* a, const uint32_t* b, const uint32_t* c, int line, const char* file) {
  constexpr int E = A::each, K = 4 * E * NB;
  uint32_t as[32][NA], bs[32][NB];
  unsigned arrived;
  for (int i = 0; i < NA + NB; i += 2) {
    uint32_t x = i < NA ? a[i] : b[i - NA], y = i + 1 < NA ? a[i + 1] : i + 1 < NA + NB ? b[i + 1 - NA] : 0;
    Values all = kwemu_warp(COLLECTIVE, 0xffffffffu, x | uint64_t(y) << 32, &arrived, line, file);
    for (int lane = 0; lane < 32; lane++)
      for (int j = i; j < i + 2 && j < NA + NB; j++) (j < NA ? as[lane][j] : bs[lane][j - NA]) = uint32_t(all[lane] >> 32 * (j - i));
  }
  if (arrived != 0xffffffffu) kwemu_stop("wrong mask", "mma.sync needs all 32 lanes of the warp", line, file);
  int lane = int(lane_id());
  for (int i = 0; i < 4; i++) {
    int row = lane / 4 + 8 * (i / 2), n = lane % 4 * 2 + i % 2;
    double sum = S == SUM_F32 ? double(__builtin_bit_cast(float, c[i])) : S == SUM_F16 ? double(half_to_float(uint16_t(c[i / 2] >> 16 * (i % 2)))) : double(int32_t(c[i]));
    for (int k = 0; k < K; k++) {
      int from = k % (4 * E) / E;
      sum += double(A::at(as[row % 8 * 4 + from][row / 8 + 2 * (k / (4 * E))], k % E)) * double(B::at(bs[n * 4 + from][k / (4 * E)], k % E));
    }
    if (S == SUM_F32) d[i] = __builtin_bit_cast(uint32_t, float(sum));
    else if (S == SUM_S32) d[i] = uint32_t(int64_t(sum));
    else d[i / 2] = (i % 2 ? d[i / 2] & 0xffffu : 0u) | uint32_t(float_to_half(float(sum))) << 16 * (i % 2);
  }
}
}  // namespace ptx
}  // namespace kwemu
