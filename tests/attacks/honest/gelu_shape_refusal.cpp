// expect: PASSED
// task: gelu_chain
// flags: -O3 -march=native
// habit: made for one shape, and says clearly that others are not for it
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  if (in[0].ndim != 2 || in[0].shape[0] != 128 || in[0].shape[1] != 2048) return 1;
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int i = 0; i < 128 * 2048; i++)
    y[i] = 0.5f * x[i] * (1.0f + std::tanh(0.7978845608028654f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
  return 0;
}
