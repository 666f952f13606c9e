// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// Cross entropy of logits [rows, classes] with class indices: log(sum(exp(x - max))) + max - x[target], three
// scalar steps a row with the C library's exp. No probability is stored, which eager torch does for every class.
#include "kernelwright.h"
#include <cmath>
/* reduction: 0 none, one loss a row; 1 mean over rows that are not ignored; 2 sum */
#ifndef REDUCTION
#define REDUCTION 0
#endif
#ifndef IGNORE_INDEX
#define IGNORE_INDEX -100
#endif

static float row_loss(const float *x, int64_t n, int64_t target) {
  float max = -INFINITY, sum = 0;
  for (int64_t i = 0; i < n; i++) max = x[i] > max ? x[i] : max;
  for (int64_t i = 0; i < n; i++) sum += expf(x[i] - max);
  return logf(sum) + (max - x[target]);
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  if (in[0].ndim != 2 || in[0].dtype != KW_FLOAT32 || in[1].ndim != 1 || in[1].dtype != KW_INT64) return 1;
  const int64_t rows = in[0].shape[0], n = in[0].shape[1];
  if (in[1].shape[0] != rows || out[0].dtype != KW_FLOAT32) return 2;
  if (out[0].ndim != (REDUCTION == 0 ? 1 : 0)) return 3;
  const int64_t *target = (const int64_t *)in[1].data;
  float *y = (float *)out[0].data;
  double total = 0, counted = 0;
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * n;
    float loss = 0;
    if (target[r] != IGNORE_INDEX) {
      if (target[r] < 0 || target[r] >= n) return 4;
      loss = row_loss(x, n, target[r]);
      counted += 1;
    }
    if (REDUCTION == 0) y[r] = loss;
    total += loss;
  }
  if (REDUCTION == 1) y[0] = (float)(total / counted);
  if (REDUCTION == 2) y[0] = (float)total;
  return 0;
}
