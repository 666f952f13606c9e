// g++ -O3 -march=native -shared -fPIC 4_prefetch.cpp -o prefetch.so
//
// Change: while a plane is worked on in cache, the next plane's lines and, for ownership, the output lines one
// band ahead are asked for: copying and computing alternate, and neither leaves the hardware prefetcher a long
// stream.
#include "kernelwright.h"
#include <cstdlib>
#include <cstring>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#ifndef BAND
#define BAND 4 /* output rows of a band */
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));

/* Everything is read off the shapes: stride and dilation are 1, padding is what makes the output as large as it is. */
struct Shape {
  int64_t planes, C, H, W, KH, KW, OH, OW, ph, pw;
  bool ok;
};

static Shape shape_of(const kw_tensor *in, const kw_tensor *out, const kw_workspace *ws) {
  Shape s = {};
  const kw_tensor &x = in[0], &w = in[1];
  if (ws->n_params < 1 || ws->n_params > 2 || ws->n_in != 1 + ws->n_params) return s;
  if (x.ndim != 4 || w.ndim != 4 || x.dtype != KW_FLOAT32 || w.shape[1] != 1 || w.shape[0] != x.shape[1]) return s;
  s.planes = x.shape[0] * x.shape[1], s.C = x.shape[1], s.H = x.shape[2], s.W = x.shape[3];
  s.KH = w.shape[2], s.KW = w.shape[3];
  s.OH = out->shape[2], s.OW = out->shape[3];
  s.ph = (s.OH + s.KH - 1 - s.H) / 2, s.pw = (s.OW + s.KW - 1 - s.W) / 2;
  s.ok = s.ph >= 0 && s.pw >= 0 && s.OH == s.H + 2 * s.ph - s.KH + 1 && s.OW == s.W + 2 * s.pw - s.KW + 1;
  return s;
}

/* One plane with its border of zeros; rows of s.W + 2 * s.pw floats. */
static void pad(const Shape &s, const float *x, float *padded) {
  const int64_t PW = s.W + 2 * s.pw;
  memset(padded, 0, sizeof(float) * (size_t)(s.ph * PW));
  for (int64_t r = 0; r < s.H; r++) {
    float *d = padded + (r + s.ph) * PW;
    for (int64_t k = 0; k < s.pw; k++) d[k] = d[s.pw + s.W + k] = 0;
    memcpy(d + s.pw, x + r * s.W, sizeof(float) * (size_t)s.W);
  }
  memset(padded + (s.ph + s.H) * PW, 0, sizeof(float) * (size_t)(s.ph * PW));
}

/* A vector of ROWS output rows: every input vector is loaded once and used by all rows that its taps reach. */
template <int ROWS> static inline __attribute__((always_inline))
void vector_of_rows(const float *x, int64_t pitch, const float *w, int64_t KH, int64_t KW, vf *acc) {
#pragma GCC unroll 16
  for (int64_t i = 0; i < ROWS + KH - 1; i++)
#pragma GCC unroll 8
    for (int64_t v = 0; v < KW; v++) {
      const vf pixels = *(const vf *)(x + i * pitch + v);
#pragma GCC unroll 16
      for (int64_t o = 0; o < ROWS; o++)
        if (o <= i && i < o + KH) acc[o] += w[(i - o) * KW + v] * pixels;
    }
}

static inline void put(float *d, vf v, int64_t lanes) {
  if (lanes >= VL) { *(vf *)d = v; return; }
#if defined(__AVX512F__)
  _mm512_mask_storeu_ps(d, (__mmask16)((1u << lanes) - 1), (__m512)v);
#else
  for (int64_t k = 0; k < lanes; k++) d[k] = v[k];
#endif
}

template <int ROWS> static
void band(const Shape &s, const float *x, const float *w, float bias, float *y, const float *next) {
  const int64_t P = s.W + 2 * s.pw;
  for (int64_t c = 0; c < s.OW; c += VL) {
    vf acc[ROWS];
    for (int o = 0; o < ROWS; o++) {
      __builtin_prefetch(next + o * s.W + c);
      __builtin_prefetch(y + (o + ROWS) * s.OW + c, 1);
    }
    for (int o = 0; o < ROWS; o++) acc[o] = vf{} + bias;
    if (s.KH == 3 && s.KW == 3) vector_of_rows<ROWS>(x + c, P, w, 3, 3, acc);
    else vector_of_rows<ROWS>(x + c, P, w, s.KH, s.KW, acc);
    for (int o = 0; o < ROWS; o++) put(y + o * s.OW + c, acc[o], s.OW - c);
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const Shape s = shape_of(in, out, ws);
  if (!s.ok) return 1;
  const int64_t PW = s.W + 2 * s.pw, PH = s.H + 2 * s.ph, size = PH * PW + s.KW + VL;
  float *padded = (float *)calloc((size_t)size, sizeof(float));
  if (!padded) return 2;
  for (int64_t p = 0; p < s.planes; p++) {
    const int64_t c = p % s.C;
    pad(s, (const float *)in[0].data + p * s.H * s.W, padded);
    const float *w = (const float *)in[1].data + c * s.KH * s.KW, bias = ws->n_params == 2 ? ((float *)in[2].data)[c] : 0;
    float *y = (float *)out[0].data + p * s.OH * s.OW;
    const float *next = (const float *)in[0].data + (p + 1) * s.H * s.W; /* past the end it does no harm */
    int64_t r = 0;
    for (; r + BAND <= s.OH; r += BAND) band<BAND>(s, padded + r * PW, w, bias, y + r * s.OW, next + r * s.W);
    for (; r < s.OH; r++) band<1>(s, padded + r * PW, w, bias, y + r * s.OW, next + r * s.W);
  }
  free(padded);
  return 0;
}
