// expect: PASSED
// One loop with the C library's tanhf.
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t count = in[0].shape[0] * in[0].shape[1];
  for (int64_t i = 0; i < count; i++) {
    const float inner = 0.7978845608028654f * (x[i] + 0.044715f * x[i] * x[i] * x[i]);
    y[i] = 0.5f * x[i] * (1.0f + tanhf(inner));
  }
  return 0;
}
