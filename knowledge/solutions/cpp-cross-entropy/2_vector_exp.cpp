// g++ -O3 -march=native -shared -fPIC 2_vector_exp.cpp -o vector_exp.so
//
// Change: maximum and exp on whole vectors with independent accumulators. exp is n ln 2 + r, a polynomial of
// degree 5 for e^r (minimax, relative error 9.2e-8) and n added to the exponent bits; below -87 it is 0.
#include "kernelwright.h"
#include <cmath>
/* reduction: 0 none, one loss a row; 1 mean over rows that are not ignored; 2 sum */
#ifndef REDUCTION
#define REDUCTION 0
#endif
#ifndef IGNORE_INDEX
#define IGNORE_INDEX -100
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * VL), aligned(4), may_alias));

static inline vf vexp(vf x) {
  const vf magic = vf{} + 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer held in the low mantissa bits */
  const vf t = x * 1.44269504f + magic, n = t - magic;
  const vf r = x - n * 0.693359375f - n * -2.12194440e-4f;
  vf p = vf{} + 8.290297711e-3f;
  p = p * r + 4.189802205e-2f;
  p = p * r + 1.666763697e-1f;
  p = p * r + 4.999914885e-1f;
  p = p * r + 9.999997068e-1f;
  p = p * r + 1.0f;
  const vi bits = (vi)p + ((vi)t << 23);
  return (vf)(bits & ~(vi)(x < -87.0f));
}

static inline vf load_tail(const float *p, int64_t n, float fill) {
  vf v = vf{} + fill;
  for (int64_t k = 0; k < n; k++) v[k] = p[k];
  return v;
}

static inline vf vmax(vf a, vf b) { return a > b ? a : b; }

static inline float fold_max(vf v) {
  float m = v[0];
  for (int k = 1; k < VL; k++) m = v[k] > m ? v[k] : m;
  return m;
}

static inline float fold_sum(vf v) {
  for (int w = VL / 2; w; w /= 2)
    for (int k = 0; k < w; k++) v[k] += v[k + w];
  return v[0];
}

static float row_max(const float *x, int64_t n) {
  vf a = vf{} - INFINITY, b = a, c = a, e = a;
  int64_t i = 0;
  for (; i + 4 * VL <= n; i += 4 * VL) {
    a = vmax(a, *(const vf *)(x + i));
    b = vmax(b, *(const vf *)(x + i + VL));
    c = vmax(c, *(const vf *)(x + i + 2 * VL));
    e = vmax(e, *(const vf *)(x + i + 3 * VL));
  }
  for (; i + VL <= n; i += VL) a = vmax(a, *(const vf *)(x + i));
  if (i < n) b = vmax(b, load_tail(x + i, n - i, -INFINITY));
  return fold_max(vmax(vmax(a, b), vmax(c, e)));
}

static float row_sum_exp(const float *x, int64_t n, float max) {
  vf a = {}, b = {};
  int64_t i = 0;
  for (; i + 2 * VL <= n; i += 2 * VL) {
    a += vexp(*(const vf *)(x + i) - max);
    b += vexp(*(const vf *)(x + i + VL) - max);
  }
  for (; i + VL <= n; i += VL) a += vexp(*(const vf *)(x + i) - max);
  if (i < n) b += vexp(load_tail(x + i, n - i, -INFINITY) - max);
  return fold_sum(a + b);
}

static float row_loss(const float *x, int64_t n, int64_t target) {
  const float max = row_max(x, n);
  return logf(row_sum_exp(x, n, max)) + (max - x[target]);
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  if (in[0].ndim != 2 || in[0].dtype != KW_FLOAT32 || in[1].ndim != 1 || in[1].dtype != KW_INT64) return 1;
  const int64_t rows = in[0].shape[0], n = in[0].shape[1];
  if (in[1].shape[0] != rows || out[0].dtype != KW_FLOAT32) return 2;
  if (out[0].ndim != (REDUCTION == 0 ? 1 : 0)) return 3;
  const int64_t *target = (const int64_t *)in[1].data;
  float *y = (float *)out[0].data;
  double total = 0, counted = 0;
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * n;
    float loss = 0;
    if (target[r] != IGNORE_INDEX) {
      if (target[r] < 0 || target[r] >= n) return 4;
      loss = row_loss(x, n, target[r]);
      counted += 1;
    }
    if (REDUCTION == 0) y[r] = loss;
    total += loss;
  }
  if (REDUCTION == 1) y[0] = (float)(total / counted);
  if (REDUCTION == 2) y[0] = (float)total;
  return 0;
}
