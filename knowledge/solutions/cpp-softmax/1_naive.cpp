// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// Softmax over the last axis, any rank: three scalar loops a row (maximum, exp and sum, divide) and the C
// library's exp.
#include "kernelwright.h"
#include <cmath>

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim;
  if (d < 1 || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  const int64_t n = in[0].shape[d - 1];
  int64_t rows = 1;
  for (int i = 0; i < d - 1; i++) rows *= in[0].shape[i];
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * n;
    float *y = (float *)out[0].data + r * n;
    float max = -INFINITY, sum = 0;
    for (int64_t i = 0; i < n; i++) max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < n; i++) sum += y[i] = expf(x[i] - max);
    for (int64_t i = 0; i < n; i++) y[i] /= sum;
  }
  return 0;
}
