// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// total = x + residual; y = total / sqrt(mean(total^2) + EPS) * weight: one scalar loop an operator, as eager
// torch does it.
#include "kernelwright.h"
#include <cmath>
#ifndef EPS
#define EPS 1e-6
#endif

static int64_t numel(const kw_tensor &t) {
  int64_t n = 1;
  for (int i = 0; i < t.ndim; i++) n *= t.shape[i];
  return n;
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  if (ws->n_in != 3 || ws->n_params != 1 || ws->n_out != 2 || in[0].dtype != KW_FLOAT32) return 1;
  const int64_t n = numel(in[2]), rows = n ? numel(in[0]) / n : 0;
  if (numel(in[1]) != numel(in[0])) return 2;
  const float *__restrict weight = (const float *)in[2].data;
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * n, *residual = (const float *)in[1].data + r * n;
    float *__restrict y = (float *)out[0].data + r * n, *__restrict total = (float *)out[1].data + r * n;
    for (int64_t i = 0; i < n; i++) total[i] = x[i] + residual[i];
    float squares = 0;
    for (int64_t i = 0; i < n; i++) squares += total[i] * total[i];
    const float scale = 1.0f / sqrtf(squares / (float)n + (float)EPS);
    for (int64_t i = 0; i < n; i++) y[i] = total[i] * scale * weight[i];
  }
  return 0;
}
