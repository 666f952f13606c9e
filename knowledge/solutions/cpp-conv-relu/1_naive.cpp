// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// relu(conv2d(x, weight) + bias), stride 1, any window and padding: seven loops as the definition has them.
#include "kernelwright.h"
#ifndef RELU
#define RELU 1
#endif

/* Everything is read off the shapes: stride and dilation are 1, padding is what makes the output as large as it is. */
struct Shape {
  int64_t B, IC, H, W, OC, KH, KW, OH, OW, ph, pw;
  bool ok;
};

static Shape shape_of(const kw_tensor *in, const kw_tensor *out, const kw_workspace *ws) {
  Shape s = {};
  const kw_tensor &x = in[0], &w = in[1];
  if (ws->n_params < 1 || ws->n_params > 2 || ws->n_in != 1 + ws->n_params) return s;
  if (x.ndim != 4 || w.ndim != 4 || x.dtype != KW_FLOAT32 || w.shape[1] != x.shape[1]) return s;
  s.B = x.shape[0], s.IC = x.shape[1], s.H = x.shape[2], s.W = x.shape[3];
  s.OC = w.shape[0], s.KH = w.shape[2], s.KW = w.shape[3];
  s.OH = out->shape[2], s.OW = out->shape[3];
  s.ph = (s.OH + s.KH - 1 - s.H) / 2, s.pw = (s.OW + s.KW - 1 - s.W) / 2;
  s.ok = s.ph >= 0 && s.pw >= 0 && s.OH == s.H + 2 * s.ph - s.KH + 1 && s.OW == s.W + 2 * s.pw - s.KW + 1;
  return s;
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const Shape s = shape_of(in, out, ws);
  if (!s.ok) return 1;
  const float *x = (const float *)in[0].data, *w = (const float *)in[1].data;
  const float *bias = ws->n_params == 2 ? (const float *)in[2].data : nullptr;
  float *y = (float *)out[0].data;
  for (int64_t b = 0; b < s.B; b++)
    for (int64_t o = 0; o < s.OC; o++)
      for (int64_t r = 0; r < s.OH; r++)
        for (int64_t c = 0; c < s.OW; c++) {
          float sum = bias ? bias[o] : 0;
          for (int64_t i = 0; i < s.IC; i++)
            for (int64_t u = 0; u < s.KH; u++)
              for (int64_t v = 0; v < s.KW; v++) {
                const int64_t yy = r + u - s.ph, xx = c + v - s.pw;
                if (yy < 0 || yy >= s.H || xx < 0 || xx >= s.W) continue;
                sum += x[((b * s.IC + i) * s.H + yy) * s.W + xx] * w[((o * s.IC + i) * s.KH + u) * s.KW + v];
              }
          y[((b * s.OC + o) * s.OH + r) * s.OW + c] = RELU && sum < 0 ? 0 : sum;
        }
  return 0;
}
