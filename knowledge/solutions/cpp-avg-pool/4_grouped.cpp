// g++ -O3 -march=native -shared -fPIC 4_grouped.cpp -o grouped.so
//
// Change: GROUP output rows go down before any goes along, each into its own buffer. Reading a buffer right after
// it was written, at another alignment, has to wait until the stores have left the store queue. The input rows
// and, for ownership, the output rows AHEAD of these are asked for meanwhile.
#include "kernelwright.h"
#include <cstdlib>
#if defined(__AVX512F__)
#include <immintrin.h>
#endif
#ifndef KH
#define KH 3
#endif
#ifndef KW
#define KW 3
#endif
#ifndef SH
#define SH 2
#endif
#ifndef SW
#define SW 2
#endif
#ifndef PH
#define PH 1
#endif
#ifndef PW
#define PW 1
#endif
#ifndef AHEAD
#define AHEAD 8 /* output rows; 0 turns prefetching off */
#endif
#ifndef GROUP
#define GROUP 4 /* output rows between which the buffers are filled and read */
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));

struct Shape { int64_t planes, H, W, OH, OW; };

/* Zero planes when this is not the pooling that KH ... PW describe (ceil_mode, another rank or dtype). */
static Shape shape_of(const kw_tensor &x, const kw_tensor &y) {
  const int d = x.ndim;
  if (d < 2 || x.dtype != KW_FLOAT32 || y.dtype != KW_FLOAT32) return {};
  Shape s = {1, x.shape[d - 2], x.shape[d - 1], y.shape[d - 2], y.shape[d - 1]};
  for (int i = 0; i < d - 2; i++) s.planes *= x.shape[i];
  if (s.OH != (s.H + 2 * (PH) - (KH)) / (SH) + 1 || s.OW != (s.W + 2 * (PW) - (KW)) / (SW) + 1) s.planes = 0;
  return s;
}

/* buffer[PW + c] = sum over the window's rows of column c; the borders of buffer are set once by the caller. */
static void down(const Shape &s, const float *x, int64_t r, float *__restrict buffer) {
  int64_t first = r * SH - PH, last = first + KH;
  if (first < 0) first = 0;
  if (last > s.H) last = s.H;
  if (last - first == 3) {
    const float *a = x + first * s.W, *b = a + s.W, *d = b + s.W;
    for (int64_t c = 0; c < s.W; c++) {
      const float t = a[c] + b[c];
      buffer[PW + c] = t + d[c];
    }
    return;
  }
  for (int64_t c = 0; c < s.W; c++) buffer[PW + c] = 0;
  for (int64_t i = first; i < last; i++)
    for (int64_t c = 0; c < s.W; c++) {
      const float t = buffer[PW + c], v = x[i * s.W + c];
      buffer[PW + c] = t + v;
    }
}

/* Every second float of 2 * VL, from p on. */
static inline vf every_second(const float *p) {
#if defined(__AVX512F__)
  const __m512i even = _mm512_set_epi32(30, 28, 26, 24, 22, 20, 18, 16, 14, 12, 10, 8, 6, 4, 2, 0);
  return (vf)_mm512_permutex2var_ps(_mm512_loadu_ps(p), even, _mm512_loadu_ps(p + VL));
#else
  vf v;
  for (int k = 0; k < VL; k++) v[k] = p[2 * k];
  return v;
#endif
}

static inline vf lanes(const float *p) {
  if (SW == 1) return *(const vf *)p;
  if (SW == 2) return every_second(p);
  vf v;
  for (int k = 0; k < VL; k++) v[k] = p[k * SW];
  return v;
}

static inline vf join(vf a, vf b) { return a + b; }

static void along(const Shape &s, const float *buffer, float *y) {
  for (int64_t c = 0; c < s.OW; c += VL) {
    vf t = lanes(buffer + c * SW);
    for (int j = 1; j < KW; j++) t = join(t, lanes(buffer + c * SW + j));
    t *= 1.0f / ((KH) * (KW));
    if (c + VL <= s.OW) *(vf *)(y + c) = t;
    else
      for (int64_t k = 0; c + k < s.OW; k++) y[c + k] = t[k];
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const Shape s = shape_of(in[0], out[0]);
  if (!s.planes) return 1;
  const int64_t width = s.W + 2 * (PW) + KW + (SW + 1) * VL;
  float *buffer = (float *)malloc(sizeof(float) * (size_t)(GROUP * width));
  if (!buffer) return 2;
  for (int64_t i = 0; i < GROUP * width; i++) buffer[i] = 0;
  for (int64_t p = 0; p < s.planes; p++) {
    const float *x = (const float *)in[0].data + p * s.H * s.W;
    float *y = (float *)out[0].data + p * s.OH * s.OW;
    for (int64_t r = 0; r < s.OH; r += GROUP) {
      const int64_t rows = s.OH - r < GROUP ? s.OH - r : GROUP;
      for (int64_t k = 0; k < rows; k++) {
        for (int64_t c = 0; AHEAD > 0 && c < SH * s.W; c += 16) __builtin_prefetch(x + (r + k + AHEAD) * SH * s.W + c);
        for (int64_t c = 0; AHEAD > 0 && c < s.OW; c += 16) __builtin_prefetch(y + (r + k + AHEAD) * s.OW + c, 1);
        down(s, x, r + k, buffer + k * width);
      }
      for (int64_t k = 0; k < rows; k++) along(s, buffer + k * width, y + (r + k) * s.OW);
    }
  }
  free(buffer);
  return 0;
}
