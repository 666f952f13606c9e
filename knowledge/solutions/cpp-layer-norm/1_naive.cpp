// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// Layer normalisation over the trailing axes that the weight spans: mean, variance and result in three scalar
// loops.
#include "kernelwright.h"
#include <cmath>
#ifndef EPS
#define EPS 1e-5
#endif

static int64_t numel(const kw_tensor &t) {
  int64_t n = 1;
  for (int i = 0; i < t.ndim; i++) n *= t.shape[i];
  return n;
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  if (ws->n_in != 3 || ws->n_params != 2 || in[0].dtype != KW_FLOAT32) return 1;
  const int64_t n = numel(in[1]), rows = n ? numel(in[0]) / n : 0;
  const float *weight = (const float *)in[1].data, *bias = (const float *)in[2].data;
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * n;
    float *y = (float *)out[0].data + r * n;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < n; i++) sum += x[i];
    const double mean = sum / n;
    for (int64_t i = 0; i < n; i++) squares += (x[i] - mean) * (x[i] - mean);
    const double scale = 1.0 / sqrt(squares / n + EPS);
    for (int64_t i = 0; i < n; i++) y[i] = (float)((x[i] - mean) * scale) * weight[i] + bias[i];
  }
  return 0;
}
