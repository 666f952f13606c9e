// g++ -O3 -march=native -shared -fPIC 4_prefetch.cpp -o prefetch.so
//
// Change: the second pass, which computes the most, asks for the input of the next row (at least AHEAD floats
// further on), the last pass for the output lines it will write, for ownership: requests are spread over the work
// instead of coming in bursts. Folding a vector to its sum uses the shuffles of AVX-512 where they exist; it
// happens three times a row and shows in short rows.
#include "kernelwright.h"
#include <cmath>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#ifndef EPS
#define EPS 1e-5
#endif
#ifndef BLOCK
#define BLOCK 2048 /* floats: half of the first-level cache at most */
#endif
#ifndef AHEAD
#define AHEAD 512 /* floats; 0 turns prefetching off */
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

static float sum_of(const float *x, int64_t n) {
  vf a[4] = {};
  int64_t i = 0;
  for (; i + 4 * VL <= n; i += 4 * VL)
    for (int k = 0; k < 4; k++) {
      a[k] += *(const vf *)(x + i + k * VL);
    }
  for (; i + VL <= n; i += VL) a[0] += *(const vf *)(x + i);
  float tail = 0;
  for (; i < n; i++) tail += x[i];
  return fold_sum(a[0] + a[1] + (a[2] + a[3])) + tail;
}

struct Sums { float first, second; };

/* Sums of d and d^2, d = x - around. Where `around` is nearly the mean, the first corrects what rounding left of it. */
static Sums sums_around(const float *x, int64_t n, float around) {
  vf a[4] = {}, b[4] = {};
  int64_t i = 0;
  for (; i + 4 * VL <= n; i += 4 * VL)
    for (int k = 0; k < 4; k++) {
      if (AHEAD > 0) __builtin_prefetch(x + i + (n > AHEAD ? n : AHEAD) + k * VL);
      const vf d = *(const vf *)(x + i + k * VL) - around;
      a[k] += d;
      b[k] += d * d;
    }
  for (; i + VL <= n; i += VL) {
    const vf d = *(const vf *)(x + i) - around;
    a[0] += d;
    b[0] += d * d;
  }
  Sums tail = {0, 0};
  for (; i < n; i++) {
    const float d = x[i] - around;
    tail.first += d;
    tail.second += d * d;
  }
  return {fold_sum(a[0] + a[1] + (a[2] + a[3])) + tail.first, fold_sum(b[0] + b[1] + (b[2] + b[3])) + tail.second};
}

struct Moments { double n, mean, squares; };

/* Chan, Golub and LeVeque (1979): moments of two sets together. */
static Moments together(Moments a, Moments b) {
  const double n = a.n + b.n, d = b.mean - a.mean;
  return {n, a.mean + d * b.n / n, a.squares + b.squares + d * d * a.n * b.n / n};
}

static Moments moments(const float *x, int64_t n) {
  Moments all = {0, 0, 0};
  for (int64_t i = 0; i < n; i += BLOCK) {
    const int64_t m = n - i < BLOCK ? n - i : BLOCK;
    const float mean = sum_of(x + i, m) / (float)m;
    const Sums sums = sums_around(x + i, m, mean);
    const double rest = (double)sums.first / (double)m;
    const Moments part = {(double)m, mean + rest, sums.second - rest * sums.first};
    all = i ? together(all, part) : part;
  }
  return all;
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  if (ws->n_in != 3 || ws->n_params != 2 || in[0].dtype != KW_FLOAT32) return 1;
  const int64_t n = numel(in[1]), rows = n ? numel(in[0]) / n : 0;
  const float *__restrict weight = (const float *)in[1].data, *__restrict bias = (const float *)in[2].data;
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * n;
    float *__restrict y = (float *)out[0].data + r * n;
    const Moments m = moments(x, n);
    const float mean = (float)m.mean, rest = (float)(m.mean - mean);
    const float scale = (float)(1.0 / sqrt(m.squares / m.n + EPS));
    int64_t i = 0;
    for (; i + VL <= n; i += VL) {
      if (AHEAD > 0) __builtin_prefetch(y + i + AHEAD, 1);
      const vf w = *(const vf *)(weight + i) * scale;
      *(vf *)(y + i) = (*(const vf *)(x + i) - mean - rest) * w + *(const vf *)(bias + i);
    }
    for (; i < n; i++) y[i] = (x[i] - mean - rest) * scale * weight[i] + bias[i];
  }
  return 0;
}
