// expect: PASSED
// Mean, then variance around it, then scale and shift; double sums.
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data, *weight = (const float *)in[1].data, *bias = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  const int64_t tokens = in[0].shape[0], hidden = in[0].shape[1];
  for (int64_t t = 0; t < tokens; t++) {
    const float *from = x + t * hidden;
    float *to = y + t * hidden;
    double sum = 0, squares = 0;
    for (int64_t h = 0; h < hidden; h++) sum += from[h];
    const double mean = sum / hidden;
    for (int64_t h = 0; h < hidden; h++) squares += (from[h] - mean) * (from[h] - mean);
    const double scale = 1.0 / std::sqrt(squares / hidden + 1e-5);
    for (int64_t h = 0; h < hidden; h++) to[h] = (float)((from[h] - mean) * scale) * weight[h] + bias[h];
  }
  return 0;
}
