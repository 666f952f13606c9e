// g++ -O3 -march=native -shared -fPIC 4_reciprocal.cpp -o reciprocal.so
//
// Change: fewer vector operations, 22 instead of 30. log2(e) goes into the cubic's coefficients, so that 2^w needs
// no reduction by ln 2; both ends are clamped instead of masked; the division (16 cycles a vector on one port)
// becomes the 14-bit reciprocal and one Newton step.
#include "kernelwright.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#ifndef CUBIC
#define CUBIC 0.044715f
#endif
#ifndef OUTER
#define OUTER 0.7978845608028654f /* sqrt(2 / pi) */
#endif
#ifndef AHEAD
#define AHEAD 512 /* floats; 0 turns prefetching off */
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * VL), aligned(4), may_alias));

/* 2^w for -126 <= w <= 126, relative error 1e-7 plus that of w. */
static inline vf vexp2(vf w) {
  const vf magic = vf{} + 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer held in the low mantissa bits */
  const vf t = w + magic, f = w - (t - magic);
  vf p = vf{} + 1.326470000e-03f;
  p = p * f + 9.671534032e-03f;
  p = p * f + 5.550734002e-02f;
  p = p * f + 2.402224176e-01f;
  p = p * f + 6.931469774e-01f;
  p = p * f + 1.0f;
  return (vf)((vi)p + ((vi)t << 23));
}

static inline vf vmin(vf a, vf b) { return a < b ? a : b; }
static inline vf vmax(vf a, vf b) { return a > b ? a : b; }

/* 1 / v: 14 bits from the table, doubled by one Newton step; v is within [1, 1e38] here. */
static inline vf reciprocal(vf v) {
#if defined(__AVX512F__)
  const vf r = (vf)_mm512_rcp14_ps((__m512)v);
  return r * (2.0f - v * r);
#else
  return 1.0f / v;
#endif
}

/* (1 + tanh u) / 2 = 1 / (1 + 2^w) with w = -2u log2(e); at w = 126 that is 0 to float32, at -126 it is 1. */
static inline vf gelu(vf x) {
  const double k = -2.0 * 1.4426950408889634 * OUTER;
  vf w = x * (x * x * (float)(k * CUBIC) + (float)k);
  w = vmax(vmin(w, vf{} + 126.0f), vf{} - 126.0f);
  return x * reciprocal(vexp2(w) + 1.0f);
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  if (in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  int64_t n = 1;
  for (int i = 0; i < in[0].ndim; i++) n *= in[0].shape[i];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  int64_t i = 0;
  for (; i + VL <= n; i += VL) {
    if (AHEAD > 0) {
      __builtin_prefetch(x + i + AHEAD);
      __builtin_prefetch(y + i + AHEAD, 1);
    }
    *(vf *)(y + i) = gelu(*(const vf *)(x + i));
  }
  if (i < n) {
    vf v = {};
    for (int64_t k = 0; k < n - i; k++) v[k] = x[i + k];
    v = gelu(v);
    for (int64_t k = 0; k < n - i; k++) y[i + k] = v[k];
  }
  return 0;
}
