// expect: PASSED
// task: morlet
// flags: -O3 -march=native -ffast-math
// habit: fast-math, one pass
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t n = in[0].shape[0] * in[0].shape[1];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int64_t i = 0; i < n; i++) y[i] = std::cos(5.0f * x[i]) * std::exp(-0.5f * x[i] * x[i]);
  return 0;
}
