// g++ -O3 -march=native -shared -fPIC 2_one_vector.cpp -o one_vector.so
//
// Change: sixteen sums a lane each in one vector, folded once a row; over an inner axis whole vectors of columns
// are summed. The chain of dependent additions is as long a step, but each does sixteen floats.
#include "kernelwright.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#ifndef AXIS
#define AXIS -1 /* the axis that is summed */
#endif
#ifndef MEAN
#define MEAN 0 /* 1 divides by its length */
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));

static inline float fold_sum(vf v) {
#if defined(__AVX512F__)
  return _mm512_reduce_add_ps((__m512)v);
#else
  for (int w = VL / 2; w; w /= 2)
    for (int k = 0; k < w; k++) v[k] += v[k + w];
  return v[0];
#endif
}

static float sum_of(const float *x, int64_t n) {
  vf a[1] = {};
  int64_t i = 0;
  for (; i + 1 * VL <= n; i += 1 * VL)
    for (int k = 0; k < 1; k++) a[k] += *(const vf *)(x + i + k * VL);
  for (; i + VL <= n; i += VL) a[0] += *(const vf *)(x + i);
  float tail = 0;
  for (; i < n; i++) tail += x[i];
  return fold_sum(a[0]) + tail;
}

/* Sums of n rows of `inner` floats, columns side by side in vectors; partial sums of 64 rows keep the error small. */
static void sum_columns(const float *x, float *y, int64_t n, int64_t inner, float scale) {
  int64_t c = 0;
  for (; c + VL <= inner; c += VL) {
    vf sum = {};
    for (int64_t i0 = 0; i0 < n; i0 += 64) {
      vf part = {};
      for (int64_t i = i0; i < n && i < i0 + 64; i++) part += *(const vf *)(x + i * inner + c);
      sum += part;
    }
    *(vf *)(y + c) = sum * scale;
  }
  for (; c < inner; c++) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i * inner + c];
    y[c] = (float)sum * scale;
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim, axis = (AXIS) < 0 ? (AXIS) + d : (AXIS);
  if (axis < 0 || axis >= d || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  int64_t outer = 1, inner = 1;
  const int64_t n = in[0].shape[axis];
  for (int i = 0; i < axis; i++) outer *= in[0].shape[i];
  for (int i = axis + 1; i < d; i++) inner *= in[0].shape[i];
  const float *x = (const float *)in[0].data, scale = MEAN ? 1.0f / (float)n : 1.0f;
  float *y = (float *)out[0].data;
  for (int64_t o = 0; o < outer; o++) {
    if (inner == 1) y[o] = sum_of(x + o * n, n) * scale;
    else sum_columns(x + o * n * inner, y + o * inner, n, inner, scale);
  }
  return 0;
}
