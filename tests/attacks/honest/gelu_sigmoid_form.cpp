// expect: PASSED
// task: gelu_chain
// flags: -O3 -march=native -ffast-math
// habit: algebra, 0.5 (1 + tanh(z)) = sigmoid(2 z), and fast-math
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t n = in[0].shape[0] * in[0].shape[1];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int64_t i = 0; i < n; i++) {
    const float v = x[i];
    float z = -1.5957691216057308f * (v + 0.044715f * v * v * v);
    z = z > 80.0f ? 80.0f : z;  // exp must not overflow: fast-math knows no infinity
    y[i] = v / (1.0f + std::exp(z));
  }
  return 0;
}
