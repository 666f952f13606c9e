// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// Mean over a KH x KW window, stride 1, no padding: every output pixel adds its own nine taps (3x3). Work: KH*KW
// loads and adds a pixel. The window is read off the shapes, so any size works.
#include "kernelwright.h"

/* One row of output. With nine constant taps the compiler makes vectors of the loop; other windows stay scalar. */
static void row(const float *s, float *__restrict y, int64_t n, int64_t W, int64_t KH, int64_t KW, float scale) {
  if (KH == 3 && KW == 3) {
    const float *a = s, *b = s + W, *d = s + 2 * W;
    for (int64_t c = 0; c < n; c++)
      y[c] = (a[c] + a[c + 1] + a[c + 2] + b[c] + b[c + 1] + b[c + 2] + d[c] + d[c + 1] + d[c + 2]) * scale;
    return;
  }
  for (int64_t c = 0; c < n; c++) {
    float sum = 0;
    for (int64_t i = 0; i < KH; i++)
      for (int64_t j = 0; j < KW; j++) sum += s[i * W + c + j];
    y[c] = sum * scale;
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim, e = out[0].ndim;
  if (d < 2 || e < 2 || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  const int64_t H = in[0].shape[d - 2], W = in[0].shape[d - 1], OH = out[0].shape[e - 2], OW = out[0].shape[e - 1];
  const int64_t KH = H - OH + 1, KW = W - OW + 1;
  if (KH < 1 || KW < 1) return 2;
  int64_t planes = 1;
  for (int i = 0; i < d - 2; i++) planes *= in[0].shape[i];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data, scale = 1.0f / (float)(KH * KW);
  for (int64_t p = 0; p < planes; p++)
    for (int64_t r = 0; r < OH; r++) row(x + (p * H + r) * W, y + (p * OH + r) * OW, OW, W, KH, KW, scale);
  return 0;
}
