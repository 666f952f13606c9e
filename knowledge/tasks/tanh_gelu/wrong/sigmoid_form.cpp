// expect: WRONG_VALUES
// x * sigmoid(1.702 x), a rougher approximation.
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t count = in[0].shape[0] * in[0].shape[1];
  for (int64_t i = 0; i < count; i++) y[i] = x[i] / (1.0f + expf(-1.702f * x[i]));
  return 0;
}
