// expect: PASSED
// task: layer_norm
// habit: Welford's recurrence
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t tokens = in[0].shape[0], hidden = in[0].shape[1];
  const float *weight = (const float *)in[1].data, *bias = (const float *)in[2].data;
  for (int64_t t = 0; t < tokens; t++) {
    const float *x = (const float *)in[0].data + t * hidden;
    float *y = (float *)out[0].data + t * hidden;
    double mean = 0, squares = 0;
    for (int64_t i = 0; i < hidden; i++) {
      const double step = x[i] - mean;
      mean += step / (double)(i + 1);
      squares += step * (x[i] - mean);
    }
    const double scale = 1.0 / std::sqrt(squares / (double)hidden + 1e-5);
    for (int64_t i = 0; i < hidden; i++) y[i] = (float)((x[i] - mean) * scale) * weight[i] + bias[i];
  }
  return 0;
}
