/* Barriers, fences, votes, shuffles, match and reduce of a warp. Owns their names and masks' arithmetic. */
#pragma once
#include "machine.h"

inline void __syncthreads(KWEMU_HERE) { kwemu_barrier(0, 0, 0, kwemu::BARRIER_ONLY, line, file); }
inline int __syncthreads_count(int p, KWEMU_HERE) { return kwemu_barrier(0, 0, p != 0, kwemu::BARRIER_COUNT, line, file); }
inline int __syncthreads_and(int p, KWEMU_HERE) { return kwemu_barrier(0, 0, p != 0, kwemu::BARRIER_AND, line, file); }
inline int __syncthreads_or(int p, KWEMU_HERE) { return kwemu_barrier(0, 0, p != 0, kwemu::BARRIER_OR, line, file); }
inline void __barrier_sync(unsigned id, KWEMU_HERE) { kwemu_barrier(id, 0, 0, kwemu::BARRIER_ONLY, line, file); }
inline void __barrier_sync_count(unsigned id, unsigned n, KWEMU_HERE) {
  kwemu_barrier(id, n, 0, kwemu::BARRIER_ONLY, line, file);
}
inline void __threadfence_block() { kwemu_fence(0); }
inline void __threadfence() { kwemu_fence(1); }
inline void __threadfence_system() { kwemu_fence(2); }
inline void __nanosleep(unsigned) { kwemu_pause(); }

namespace kwemu {
inline Values meet(int op, unsigned mask, uint64_t value, unsigned& arrived, int line, const char* file) {
  return kwemu_warp(op, mask, value, &arrived, line, file);
}
template <class T>
KWEMU_BARE uint64_t bits_of(T v) {
  static_assert(sizeof(T) <= 8, "a warp primitive carries at most eight bytes");
  uint64_t b = 0;
  std::memcpy(&b, &v, sizeof v);
  return b;
}
template <class T>
KWEMU_BARE T value_of(const uint64_t* from) {
  T v;
  std::memcpy(&v, from, sizeof v);
  return v;
}
template <class T>
T shuffle(int op, unsigned mask, T v, int amount, int width, int line, const char* file) {
  unsigned arrived;
  Values all = meet(op, mask, bits_of(v), arrived, line, file);
  int lane = int(lane_id()), base = lane & ~(width - 1), source = lane;
  if (op == SHFL) source = base | (amount & (width - 1));
  if (op == SHFL_UP) source = lane - amount >= base ? lane - amount : lane;
  if (op == SHFL_DOWN) source = lane + amount < base + width ? lane + amount : lane;
  if (op == SHFL_XOR) source = (lane ^ amount) < base + width ? lane ^ amount : lane;
  if (!(arrived >> source & 1)) kwemu_wrong_lane(source, mask, line, file);
  return value_of<T>(all + source);
}
template <class T, class F>
T fold(unsigned mask, T v, int line, const char* file, F join, bool whole = false) {
  unsigned arrived;
  Values all = meet(REDUCE, mask, bits_of(v), arrived, line, file);
  if (whole && mask & ~arrived) kwemu_wrong_lane(__builtin_ctz(mask & ~arrived), mask, line, file);  // a group is all its threads
  bool first = true;
  T sum = v;
  for (int i = 0; i < 32; i++)
    if (arrived >> i & 1) sum = first ? (first = false, value_of<T>(all + i)) : join(sum, value_of<T>(all + i));
  return sum;
}
}  // namespace kwemu

inline void __syncwarp(unsigned mask = 0xffffffffu, KWEMU_HERE) {
  unsigned arrived;
  kwemu::meet(kwemu::SYNCWARP, mask, 0, arrived, line, file);
}
inline unsigned __activemask(KWEMU_HERE) {
  unsigned arrived;
  kwemu::meet(kwemu::ACTIVE, 0, 0, arrived, line, file);
  return arrived;
}
template <class T>
T __shfl_sync(unsigned m, T v, int s, int w = 32, KWEMU_HERE) { return kwemu::shuffle(kwemu::SHFL, m, v, s, w, line, file); }
template <class T>
T __shfl_up_sync(unsigned m, T v, unsigned d, int w = 32, KWEMU_HERE) {
  return kwemu::shuffle(kwemu::SHFL_UP, m, v, int(d), w, line, file);
}
template <class T>
T __shfl_down_sync(unsigned m, T v, unsigned d, int w = 32, KWEMU_HERE) {
  return kwemu::shuffle(kwemu::SHFL_DOWN, m, v, int(d), w, line, file);
}
template <class T>
T __shfl_xor_sync(unsigned m, T v, int d, int w = 32, KWEMU_HERE) {
  return kwemu::shuffle(kwemu::SHFL_XOR, m, v, d, w, line, file);
}
inline unsigned __ballot_sync(unsigned mask, int p, KWEMU_HERE) {
  unsigned arrived, set = 0;
  kwemu::Values all = kwemu::meet(kwemu::VOTE, mask, p != 0, arrived, line, file);
  for (int i = 0; i < 32; i++)
    if (arrived >> i & 1 && kwemu::value_of<uint64_t>(all + i)) set |= 1u << i;
  return set;
}
inline int __any_sync(unsigned mask, int p, KWEMU_HERE) { return __ballot_sync(mask, p, file, line) != 0; }
inline int __all_sync(unsigned mask, int p, KWEMU_HERE) { return __ballot_sync(mask, !p, file, line) == 0; }
template <class T>
unsigned __match_any_sync(unsigned mask, T v, KWEMU_HERE) {
  unsigned arrived, same = 0;
  uint64_t mine = kwemu::bits_of(v);
  kwemu::Values all = kwemu::meet(kwemu::MATCH, mask, mine, arrived, line, file);
  for (int i = 0; i < 32; i++)
    if (arrived >> i & 1 && kwemu::value_of<uint64_t>(all + i) == mine) same |= 1u << i;
  return same;
}
template <class T>
unsigned __match_all_sync(unsigned mask, T v, int* pred, KWEMU_HERE) {
  unsigned arrived, same = 0;
  uint64_t mine = kwemu::bits_of(v);
  kwemu::Values all = kwemu::meet(kwemu::MATCH, mask, mine, arrived, line, file);
  for (int i = 0; i < 32; i++)
    if (arrived >> i & 1 && kwemu::value_of<uint64_t>(all + i) == mine) same |= 1u << i;
  *pred = same == arrived;
  return *pred ? arrived : 0u;
}
#define KWEMU_FOLD(name, type, expression)                                                       \
  inline type name(unsigned mask, type v, KWEMU_HERE) {                                          \
    return kwemu::fold(mask, v, line, file, [](type a, type b) { return type(expression); });    \
  }
KWEMU_FOLD(__reduce_add_sync, unsigned, a + b)
KWEMU_FOLD(__reduce_min_sync, unsigned, a < b ? a : b)
KWEMU_FOLD(__reduce_max_sync, unsigned, a < b ? b : a)
KWEMU_FOLD(__reduce_and_sync, unsigned, a& b)
KWEMU_FOLD(__reduce_or_sync, unsigned, a | b)
KWEMU_FOLD(__reduce_xor_sync, unsigned, a ^ b)
KWEMU_FOLD(__reduce_add_sync, int, unsigned(a) + unsigned(b))
KWEMU_FOLD(__reduce_min_sync, int, a < b ? a : b)
KWEMU_FOLD(__reduce_max_sync, int, a < b ? b : a)
#undef KWEMU_FOLD
