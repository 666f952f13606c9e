// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// Every row divided by its Euclidean length (at least EPS): two scalar loops.
#include "kernelwright.h"
#include <cmath>
#ifndef EPS
#define EPS 1e-12
#endif

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim;
  if (d < 1 || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  const int64_t n = in[0].shape[d - 1];
  int64_t rows = 1;
  for (int i = 0; i < d - 1; i++) rows *= in[0].shape[i];
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * n;
    float *__restrict y = (float *)out[0].data + r * n;
    float squares = 0;
    for (int64_t i = 0; i < n; i++) squares += x[i] * x[i];
    const float norm = sqrtf(squares);
    for (int64_t i = 0; i < n; i++) y[i] = x[i] / (norm > (float)EPS ? norm : (float)EPS);
  }
  return 0;
}
