// g++ -O3 -march=native -shared -fPIC 2_separable.cpp -o separable.so
//
// Change: first down the window's rows, whole rows at a time into a buffer with its border set once, then along
// it. KH + KW steps instead of KH * KW, no test at a tap, and the first half is plain vector code for the
// compiler.
#include "kernelwright.h"
#include <cstdlib>
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

static void along(const Shape &s, const float *buffer, float *__restrict y) {
  for (int64_t c = 0; c < s.OW; c++) {
    float t = buffer[c * SW];
    for (int j = 1; j < KW; j++) {
      const float v = buffer[c * SW + j];
      t = t + v;
    }
    y[c] = t * (1.0f / ((KH) * (KW)));
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const Shape s = shape_of(in[0], out[0]);
  if (!s.planes) return 1;
  const int64_t width = s.W + 2 * (PW) + KW;
  float *buffer = (float *)malloc(sizeof(float) * (size_t)width);
  if (!buffer) return 2;
  for (int64_t i = 0; i < width; i++) buffer[i] = 0;
  for (int64_t p = 0; p < s.planes; p++) {
    const float *x = (const float *)in[0].data + p * s.H * s.W;
    float *y = (float *)out[0].data + p * s.OH * s.OW;
    for (int64_t r = 0; r < s.OH; r++) {
      down(s, x, r, buffer);
      along(s, buffer, y + r * s.OW);
    }
  }
  free(buffer);
  return 0;
}
