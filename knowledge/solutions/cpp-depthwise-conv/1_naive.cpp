// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// Depthwise convolution (every channel has its own window), stride 1, any window and padding, with or without
// bias: the definition, with a test for the border at every tap.
#include "kernelwright.h"

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

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const Shape s = shape_of(in, out, ws);
  if (!s.ok) return 1;
  const float *bias = ws->n_params == 2 ? (const float *)in[2].data : nullptr;
  for (int64_t p = 0; p < s.planes; p++) {
    const float *x = (const float *)in[0].data + p * s.H * s.W, *w = (const float *)in[1].data + p % s.C * s.KH * s.KW;
    float *y = (float *)out[0].data + p * s.OH * s.OW;
    for (int64_t r = 0; r < s.OH; r++)
      for (int64_t c = 0; c < s.OW; c++) {
        float sum = bias ? bias[p % s.C] : 0;
        for (int64_t u = 0; u < s.KH; u++)
          for (int64_t v = 0; v < s.KW; v++) {
            const int64_t yy = r + u - s.ph, xx = c + v - s.pw;
            if (yy >= 0 && yy < s.H && xx >= 0 && xx < s.W) sum += x[yy * s.W + xx] * w[u * s.KW + v];
          }
        y[r * s.OW + c] = sum;
      }
  }
  return 0;
}
