// expect: WRONG_VALUES
// Forgets the ReLU.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data, *weight = (const float *)in[1].data, *bias = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  const int64_t m = in[0].shape[0], k = in[0].shape[1], n = out[0].shape[1];
  for (int64_t r = 0; r < m; r++)
    for (int64_t j = 0; j < n; j++) {
      float sum = bias[j];
      for (int64_t i = 0; i < k; i++) sum += x[r * k + i] * weight[j * k + i];
      y[r * n + j] = sum;
    }
  return 0;
}
