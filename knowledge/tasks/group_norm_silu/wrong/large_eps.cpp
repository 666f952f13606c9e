// expect: WRONG_VALUES
// Another library's epsilon: 1e-3 instead of 1e-5.
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data, *weight = (const float *)in[1].data, *bias = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  const int64_t channels = in[0].shape[1], pixels = in[0].shape[2] * in[0].shape[3];
  const int64_t groups = scalars[0].i, each = channels / groups, count = each * pixels;
  for (int64_t g = 0; g < in[0].shape[0] * groups; g++) {
    const float *from = x + g * count;
    double sum = 0, squares = 0;
    for (int64_t i = 0; i < count; i++) sum += from[i];
    const double mean = sum / count;
    for (int64_t i = 0; i < count; i++) squares += (from[i] - mean) * (from[i] - mean);
    const double scale = 1.0 / std::sqrt(squares / count + 1e-3);
    for (int64_t i = 0; i < count; i++) {
      const int64_t channel = g % groups * each + i / pixels;
      const float n = (float)((from[i] - mean) * scale) * weight[channel] + bias[channel];
      y[g * count + i] = n / (1.0f + expf(-n));
    }
  }
  return 0;
}
