// g++ -O3 -march=native -shared -fPIC 4_blocks.cpp -o blocks.so
//
// Change: the maximum is taken a block of BLOCK floats at a time, right before the block's exp while it is still
// in the first-level cache, and the blocks are brought to the row's maximum in the scaling pass ("online" softmax,
// Milakov and Gimelshein, arXiv:1805.02867). A row crosses the memory border once instead of twice, and reading
// the next block overlaps with the exp of this one.
#include "kernelwright.h"
#include <cfloat>
#include <cmath>
#ifndef BLOCK
#define BLOCK 512 /* floats */
#endif
#define MAX_BLOCKS 256
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

static float row_exp(const float *x, float *y, int64_t n, float max) {
  vf a = {}, b = {};
  int64_t i = 0;
  for (; i + 2 * VL <= n; i += 2 * VL) {
    a += *(vf *)(y + i) = vexp(*(const vf *)(x + i) - max);
    b += *(vf *)(y + i + VL) = vexp(*(const vf *)(x + i + VL) - max);
  }
  for (; i + VL <= n; i += VL) a += *(vf *)(y + i) = vexp(*(const vf *)(x + i) - max);
  if (i < n) {
    const vf v = vexp(load_tail(x + i, n - i, -INFINITY) - max);
    for (int64_t k = 0; k < n - i; k++) y[i + k] = v[k];
    b += v;
  }
  return fold_sum(a + b);
}

/* One row: e^(x - maximum of its block) a block, then every block scaled by e^(its maximum - row's) / sum. */
static void row_softmax(const float *x, float *y, int64_t n) {
  float maxima[MAX_BLOCKS], sums[MAX_BLOCKS], max = -INFINITY, sum = 0;
  int64_t block = BLOCK;
  while (block * MAX_BLOCKS < n) block *= 2;
  int blocks = 0;
  for (int64_t i = 0; i < n; i += block, blocks++) {
    const int64_t m = n - i < block ? n - i : block;
    const float top = row_max(x + i, m);
    maxima[blocks] = top > -FLT_MAX ? top : -FLT_MAX; /* a block of -inf: no inf - inf */
    sums[blocks] = row_exp(x + i, y + i, m, maxima[blocks]);
    max = top > max ? top : max;
  }
  for (int b = 0; b < blocks; b++) {
    maxima[b] = expf(maxima[b] - max);
    sum += sums[b] * maxima[b];
  }
  for (int b = 0; b < blocks; b++) {
    const float scale = maxima[b] / sum;
    const int64_t end = (b + 1) * block < n ? (b + 1) * block : n;
    for (int64_t i = b * block; i < end; i++) y[i] *= scale;
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim;
  if (d < 1 || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  const int64_t n = in[0].shape[d - 1];
  int64_t rows = 1;
  for (int i = 0; i < d - 1; i++) rows *= in[0].shape[i];
  for (int64_t r = 0; r < rows; r++) row_softmax((const float *)in[0].data + r * n, (float *)out[0].data + r * n, n);
  return 0;
}
