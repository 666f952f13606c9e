// g++ -O3 -march=native -shared -fPIC 2_fused.cpp -o fused.so
//
// Change: the addition and the sum of squares are one pass in vectors with four accumulators; the total is stored
// once and read back from the first-level cache for the result.
#include "kernelwright.h"
#include <cmath>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#ifndef EPS
#define EPS 1e-6
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));

static int64_t numel(const kw_tensor &t) {
  int64_t n = 1;
  for (int i = 0; i < t.ndim; i++) n *= t.shape[i];
  return n;
}

static inline float fold_sum(vf v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)v);
#else
  for (int w = VL / 2; w; w /= 2)
    for (int k = 0; k < w; k++) v[k] += v[k + w];
  return v[0];
#endif
}

/* total = x + residual; returns the sum of its squares. */
static float add_squares(const float *x, const float *residual, float *total, int64_t n) {
  vf a[4] = {};
  int64_t i = 0;
  for (; i + 4 * VL <= n; i += 4 * VL)
    for (int k = 0; k < 4; k++) {
      const vf t = *(const vf *)(x + i + k * VL) + *(const vf *)(residual + i + k * VL);
      *(vf *)(total + i + k * VL) = t;
      a[k] += t * t;
    }
  float tail = 0;
  for (; i < n; i++) {
    total[i] = x[i] + residual[i];
    tail += total[i] * total[i];
  }
  return fold_sum(a[0] + a[1] + (a[2] + a[3])) + tail;
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  if (ws->n_in != 3 || ws->n_params != 1 || ws->n_out != 2 || in[0].dtype != KW_FLOAT32) return 1;
  const int64_t n = numel(in[2]), rows = n ? numel(in[0]) / n : 0;
  if (numel(in[1]) != numel(in[0])) return 2;
  const float *__restrict weight = (const float *)in[2].data;
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * n, *residual = (const float *)in[1].data + r * n;
    float *__restrict y = (float *)out[0].data + r * n, *__restrict total = (float *)out[1].data + r * n;
    const float scale = 1.0f / sqrtf(add_squares(x, residual, total, n) / (float)n + (float)EPS);
    for (int64_t i = 0; i < n; i++) y[i] = total[i] * scale * weight[i];
  }
  return 0;
}
