/* Vector types and make_*: aligned as CUDA aligns them, so that a misaligned access shows. */
#pragma once
#include "machine.h"

#define KWEMU_VECTOR(T, name, align1, align2, align4)                                       \
  struct name##1 { T x; };                                                                  \
  struct alignas(align2) name##2 { T x, y; };                                               \
  struct name##3 { T x, y, z; };                                                            \
  struct alignas(align4) name##4 { T x, y, z, w; };                                         \
  inline name##1 make_##name##1(T x) { return {x}; }                                        \
  inline name##2 make_##name##2(T x, T y) { return {x, y}; }                                \
  inline name##3 make_##name##3(T x, T y, T z) { return {x, y, z}; }                        \
  inline name##4 make_##name##4(T x, T y, T z, T w) { return {x, y, z, w}; }
#define uint3 kwemu_other_uint3
KWEMU_VECTOR(signed char, char, 1, 2, 4)
KWEMU_VECTOR(unsigned char, uchar, 1, 2, 4)
KWEMU_VECTOR(short, short, 2, 4, 8)
KWEMU_VECTOR(unsigned short, ushort, 2, 4, 8)
KWEMU_VECTOR(int, int, 4, 8, 16)
KWEMU_VECTOR(long, long, 8, 16, 16)
KWEMU_VECTOR(unsigned long, ulong, 8, 16, 16)
KWEMU_VECTOR(long long, longlong, 8, 16, 16)
KWEMU_VECTOR(unsigned long long, ulonglong, 8, 16, 16)
KWEMU_VECTOR(float, float, 4, 8, 16)
KWEMU_VECTOR(double, double, 8, 16, 16)
#undef uint3
#undef KWEMU_VECTOR
struct uint1 { unsigned x; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
inline uint1 make_uint1(unsigned x) { return {x}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint3 make_uint3(unsigned x, unsigned y, unsigned z) { return {x, y, z}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
