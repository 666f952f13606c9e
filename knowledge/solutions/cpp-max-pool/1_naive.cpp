// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// Largest value of each KH x KW window, strides SH, SW, padding PH, PW (never the largest): window by window, with
// a test for the border at every tap.
#include "kernelwright.h"
#include <cmath>
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

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const Shape s = shape_of(in[0], out[0]);
  if (!s.planes) return 1;
  for (int64_t p = 0; p < s.planes; p++) {
    const float *x = (const float *)in[0].data + p * s.H * s.W;
    float *y = (float *)out[0].data + p * s.OH * s.OW;
    for (int64_t r = 0; r < s.OH; r++)
      for (int64_t c = 0; c < s.OW; c++) {
        float best = -INFINITY;
        for (int64_t i = r * SH - PH; i < r * SH - PH + KH; i++)
          for (int64_t j = c * SW - PW; j < c * SW - PW + KW; j++) {
            if (i < 0 || i >= s.H || j < 0 || j >= s.W) continue;
            const float v = x[i * s.W + j];
            if (v > best) best = v;
          }
        y[r * s.OW + c] = best;
      }
  }
  return 0;
}
