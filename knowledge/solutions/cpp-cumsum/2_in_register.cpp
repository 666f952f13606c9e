// g++ -O3 -march=native -shared -fPIC 2_in_register.cpp -o in_register.so
//
// Change: sixteen running sums at once inside a vector register (four shifts and adds, Hillis and Steele 1986).
// From vector to vector only the total is carried, as a double: one addition of four cycles for sixteen floats,
// and the rounding error does not grow with the length of the row. Without AVX-512 the scan within a vector is a
// scalar loop.
#include "kernelwright.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#ifndef AXIS
#define AXIS -1
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));

/* Running sums within a vector: log2(16) steps of shifting by 1, 2, 4, 8 lanes and adding. */
#if defined(__AVX512F__)
template <int N> static inline __m512 shifted(__m512 v) {
  return _mm512_castsi512_ps(_mm512_alignr_epi32(_mm512_castps_si512(v), _mm512_setzero_si512(), 16 - N));
}
static inline vf scan(vf x) {
  __m512 v = (__m512)x;
  v = _mm512_add_ps(v, shifted<1>(v));
  v = _mm512_add_ps(v, shifted<2>(v));
  v = _mm512_add_ps(v, shifted<4>(v));
  return (vf)_mm512_add_ps(v, shifted<8>(v));
}
#else
static inline vf scan(vf v) {
  for (int k = 1; k < VL; k++) v[k] += v[k - 1];
  return v;
}
#endif

static void scan_row(const float *x, float *y, int64_t n) {
  double carry = 0;
  int64_t i = 0;
  for (; i + VL <= n; i += VL) {
    const vf v = scan(*(const vf *)(x + i));
    *(vf *)(y + i) = v + (float)carry;
    carry += v[VL - 1];
  }
  for (; i < n; i++) y[i] = (float)(carry += x[i]);
}

/* Along an inner axis neighbouring columns are neighbouring floats: VL running sums side by side, no scan needed. */
static void scan_columns(const float *x, float *y, int64_t n, int64_t inner) {
  const int64_t whole = inner - inner % VL;
  for (int64_t c = 0; c < whole; c += VL) {
    double sum[VL] = {};
    for (int64_t i = 0; i < n; i++)
      for (int k = 0; k < VL; k++) y[i * inner + c + k] = (float)(sum[k] += x[i * inner + c + k]);
  }
  for (int64_t c = whole; c < inner; c++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) y[i * inner + c] = (float)(sum += x[i * inner + c]);
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim, axis = (AXIS) < 0 ? (AXIS) + d : (AXIS);
  if (axis < 0 || axis >= d || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  int64_t outer = 1, inner = 1;
  const int64_t n = in[0].shape[axis];
  for (int i = 0; i < axis; i++) outer *= in[0].shape[i];
  for (int i = axis + 1; i < d; i++) inner *= in[0].shape[i];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int64_t o = 0; o < outer; o++) {
    if (inner == 1) scan_row(x + o * n, y + o * n, n);
    else scan_columns(x + o * n * inner, y + o * n * inner, n, inner);
  }
  return 0;
}
