// expect: PASSED
// task: gelu_chain
// flags: -O3 -march=native
// habit: a specialised path for one shape, a general one for all others
#include <cmath>

#include "kernelwright.h"

static inline float gelu(float v) {
  return 0.5f * v * (1.0f + std::tanh(0.7978845608028654f * (v + 0.044715f * v * v * v)));
}

template <int64_t N>
static void fixed(const float *x, float *y) {
  for (int64_t i = 0; i < N; i++) y[i] = gelu(x[i]);
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t n = in[0].shape[0] * in[0].shape[1];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  if (n == 128 * 2048) {
    fixed<128 * 2048>(x, y);
    return 0;
  }
  for (int64_t i = 0; i < n; i++) y[i] = gelu(x[i]);
  return 0;
}
