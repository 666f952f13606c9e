// g++ -O3 -march=native -shared -fPIC 6_prefetch.cpp -o prefetch.so
//
// Change: while a band is computed, lines of the next band, to be read *and to be written*, are asked for. A row
// of a large image is a page of its own, so the hardware prefetcher starts anew at every row, and each store waits
// for its line to be fetched for ownership. One prefetch a vector and row hides both. Work as before.
#include "kernelwright.h"
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#ifndef BAND
#define BAND 4
#endif
#ifndef AHEAD
#define AHEAD 2 /* rows; 0 turns prefetching off */
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));

struct Plane { const float *x; float *y; int64_t W, OW, KH, KW; float scale; };

/* One vector of ROWS output rows; with constant ROWS, KH, KW the loops over taps unroll into registers. */
template <int ROWS> static inline __attribute__((always_inline))
void vector_of_rows(const Plane &p, const float *x, float *y, int64_t KH, int64_t KW) {
  vf acc[ROWS] = {};
  for (int64_t o = 0; AHEAD > 0 && o < ROWS; o++) {
    __builtin_prefetch(x + (o + AHEAD + KH - 1) * p.W);
    __builtin_prefetch(y + (o + AHEAD) * p.OW, 1);
  }
#pragma GCC unroll 16
  for (int64_t i = 0; i < ROWS + KH - 1; i++) {
    vf sum = *(const vf *)(x + i * p.W);
#pragma GCC unroll 8
    for (int64_t j = 1; j < KW; j++) sum += *(const vf *)(x + i * p.W + j);
#pragma GCC unroll 16
    for (int64_t o = 0; o < ROWS; o++)
      if (o <= i && i < o + KH) acc[o] += sum;
  }
#pragma GCC unroll 16
  for (int64_t o = 0; o < ROWS; o++) *(vf *)(y + o * p.OW) = acc[o] * p.scale;
}

#if defined(__AVX512F__)
/* The 16 floats that start N lanes into low:high. */
template <int N> static inline vf lanes_from(vf low, vf high) {
  return (vf)_mm512_castsi512_ps(_mm512_alignr_epi32((__m512i)high, (__m512i)low, N));
}

/* Sums of three rows at x for BAND rows of output; the sum of each middle pair serves two rows. */
static inline void sums_down(const float *x, int64_t W, vf *sum) {
  vf in[BAND + 2];
#pragma GCC unroll 16
  for (int i = 0; i < BAND + 2; i++) in[i] = *(const vf *)(x + i * W);
#pragma GCC unroll 16
  for (int o = 0; o < BAND; o += 2) {
    const vf pair = in[o + 1] + in[o + 2];
    sum[o] = in[o] + pair;
    sum[o + 1] = pair + in[o + 3];
  }
}

/* 3 x 3, BAND rows: down first, then along with neighbours shifted in from the next vector. Returns columns done. */
static int64_t band_3x3(const Plane &p, const float *x, float *y) {
  vf sum[BAND], next[BAND];
  int64_t c = 0;
  if (p.W >= 2 * VL) sums_down(x, p.W, sum);
  for (; c + 2 * VL <= p.W; c += VL) {
    for (int64_t o = 0; AHEAD > 0 && o < BAND; o++) {
      __builtin_prefetch(x + (o + AHEAD + 2) * p.W + c + VL);
      __builtin_prefetch(y + (o + AHEAD) * p.OW + c, 1);
    }
    sums_down(x + c + VL, p.W, next);
#pragma GCC unroll 16
    for (int o = 0; o < BAND; o++) {
      const vf neighbours = lanes_from<1>(sum[o], next[o]) + lanes_from<2>(sum[o], next[o]);
      *(vf *)(y + o * p.OW + c) = (sum[o] + neighbours) * p.scale;
      sum[o] = next[o];
    }
  }
  return c;
}
#else
static int64_t band_3x3(const Plane &, const float *, float *) { return 0; }
#endif

static void narrow(const Plane &p, const float *x, float *y, int64_t rows) {
  for (int64_t o = 0; o < rows; o++)
    for (int64_t c = 0; c < p.OW; c++) {
      float sum = 0;
      for (int64_t i = 0; i < p.KH; i++)
        for (int64_t j = 0; j < p.KW; j++) sum += x[(o + i) * p.W + c + j];
      y[o * p.OW + c] = sum * p.scale;
    }
}

template <int ROWS> static inline __attribute__((always_inline))
void band(const Plane &p, const float *x, float *y, int64_t KH, int64_t KW) {
  if (p.OW < VL) return narrow(p, x, y, ROWS);
  int64_t c = ROWS == BAND && BAND % 2 == 0 && KH == 3 && KW == 3 ? band_3x3(p, x, y) : 0;
  for (; c + VL <= p.OW; c += VL) vector_of_rows<ROWS>(p, x + c, y + c, KH, KW);
  if (p.OW % VL) vector_of_rows<ROWS>(p, x + p.OW - VL, y + p.OW - VL, KH, KW);
}

template <int ROWS> static void dispatch(const Plane &p, int64_t r) {
  const float *x = p.x + r * p.W;
  float *y = p.y + r * p.OW;
  if (p.KH == 3 && p.KW == 3) band<ROWS>(p, x, y, 3, 3);
  else if (p.KH == 5 && p.KW == 5) band<ROWS>(p, x, y, 5, 5);
  else band<ROWS>(p, x, y, p.KH, p.KW);
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim, e = out[0].ndim;
  if (d < 2 || e < 2 || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  const int64_t H = in[0].shape[d - 2], W = in[0].shape[d - 1], OH = out[0].shape[e - 2], OW = out[0].shape[e - 1];
  const int64_t KH = H - OH + 1, KW = W - OW + 1;
  if (KH < 1 || KW < 1) return 2;
  int64_t planes = 1;
  for (int i = 0; i < d - 2; i++) planes *= in[0].shape[i];
  for (int64_t n = 0; n < planes; n++) {
    const Plane p = {(const float *)in[0].data + n * H * W, (float *)out[0].data + n * OH * OW,
                     W, OW, KH, KW, 1.0f / (float)(KH * KW)};
    int64_t r = 0;
    for (; r + BAND <= OH; r += BAND) dispatch<BAND>(p, r);
    for (; r < OH; r++) dispatch<1>(p, r);
  }
  return 0;
}
