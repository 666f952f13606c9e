// flags: -O3 -march=native -ffast-math
// Specialised: the trip counts are compile-time constants, so that the compiler unrolls and vectorises fully.
#include <cmath>

#include "kernelwright.h"

constexpr int ROWS = 128, COLUMNS = 2048;

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int i = 0; i < ROWS * COLUMNS; i++) {
    const float v = x[i];
    float z = -2.0f * 0.7978845608028654f * (v + 0.044715f * v * v * v);
    z = z > 80.0f ? 80.0f : z;
    y[i] = v / (1.0f + std::exp(z));
  }
  return 0;
}
