// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// softmax(scale * q k^T) v for every head, row by row: scores, softmax and weighted sum with the C library's exp.
// Only one row of scores exists at a time.
#include "kernelwright.h"
#include <cmath>
#include <cstdlib>
#ifndef SCALE
#define SCALE 0 /* what q . k is multiplied by; 0 means 1 / sqrt(head size) */
#endif

struct Shape { int64_t heads, Q, K, D, E; float scale; };

/* q [..., Q, D], k [..., K, D], v [..., K, E], y [..., Q, E] with the same leading axes; no heads when they do not fit. */
static Shape shape_of(const kw_tensor *in, const kw_tensor &y) {
  const int d = in[0].ndim;
  if (d < 2 || in[1].ndim != d || in[2].ndim != d || y.ndim != d || in[0].dtype != KW_FLOAT32) return {};
  Shape s = {1, in[0].shape[d - 2], in[1].shape[d - 2], in[0].shape[d - 1], in[2].shape[d - 1], 0};
  for (int i = 0; i < d - 2; i++) {
    if (in[1].shape[i] != in[0].shape[i] || in[2].shape[i] != in[0].shape[i]) return {};
    s.heads *= in[0].shape[i];
  }
  s.scale = (SCALE) > 0 ? (float)(SCALE) : 1.0f / sqrtf((float)s.D);
  if (in[1].shape[d - 1] != s.D || in[2].shape[d - 2] != s.K || y.shape[d - 2] != s.Q || y.shape[d - 1] != s.E) return {};
  return s;
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const Shape s = ws->n_in == 3 ? shape_of(in, out[0]) : Shape{};
  if (!s.heads || !s.K) return 1;
  float *scores = (float *)malloc(sizeof(float) * (size_t)s.K);
  if (!scores) return 2;
  for (int64_t h = 0; h < s.heads; h++)
    for (int64_t r = 0; r < s.Q; r++) {
      const float *q = (const float *)in[0].data + (h * s.Q + r) * s.D, *k = (const float *)in[1].data + h * s.K * s.D;
      const float *v = (const float *)in[2].data + h * s.K * s.E;
      float *y = (float *)out[0].data + (h * s.Q + r) * s.E, max = -INFINITY, sum = 0;
      for (int64_t j = 0; j < s.K; j++) {
        float dot = 0;
        for (int64_t d = 0; d < s.D; d++) dot += q[d] * k[j * s.D + d];
        scores[j] = dot * s.scale;
        max = scores[j] > max ? scores[j] : max;
      }
      for (int64_t j = 0; j < s.K; j++) sum += scores[j] = expf(scores[j] - max);
      for (int64_t e = 0; e < s.E; e++) y[e] = 0;
      for (int64_t j = 0; j < s.K; j++)
        for (int64_t e = 0; e < s.E; e++) y[e] += scores[j] / sum * v[j * s.E + e];
    }
  free(scores);
  return 0;
}
