// expect: PASSED
// task: gelu_chain
// flags: -O3 -march=native
// habit: a slow first call that fills a static table of constants, never of inputs
#include <cmath>

#include "kernelwright.h"

static double table[1 << 20];
static bool filled = false;

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  if (!filled) {  // exp(k / 2^16) for k in -2^19 .. 2^19: argument reduction by table
    for (int i = 0; i < 1 << 20; i++) table[i] = std::exp((i - (1 << 19)) / 65536.0);
    filled = true;
  }
  const int64_t n = in[0].shape[0] * in[0].shape[1];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int64_t i = 0; i < n; i++) {
    const double v = x[i], z = 1.5957691216057308 * (v + 0.044715 * v * v * v);
    double e;
    if (z > -7.9 && z < 7.9) {
      const int k = (int)std::lrint(-z * 65536.0);
      const double r = -z - k / 65536.0;
      e = table[k + (1 << 19)] * (1.0 + r * (1.0 + 0.5 * r));
    } else {
      e = std::exp(-z);
    }
    y[i] = (float)(v / (1.0 + e));
  }
  return 0;
}
