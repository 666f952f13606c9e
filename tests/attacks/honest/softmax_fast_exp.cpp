// expect: PASSED
// task: row_softmax
// flags: -O3 -march=native -ffast-math
// habit: fast-math, polynomial exponential of its own
#include <cstdint>
#include <cstring>

#include "kernelwright.h"

static inline float exp_poly(float x) {
  x = x < -87.0f ? -87.0f : x;
  const float t = x * 1.44269504f;
  const int32_t n = (int32_t)(t - 0.5f);
  const float r = x - n * 0.693145752f - n * 1.42860677e-6f;
  float p = 1.98412698e-4f;
  p = p * r + 1.38888889e-3f;
  p = p * r + 8.33333333e-3f;
  p = p * r + 4.16666667e-2f;
  p = p * r + 1.66666667e-1f;
  p = p * r + 0.5f;
  p = p * r + 1.0f;
  p = p * r + 1.0f;
  const int32_t bits = (n + 127) << 23;
  float scale;
  memcpy(&scale, &bits, 4);
  return p * scale;
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * columns;
    float *y = (float *)out[0].data + r * columns, top = x[0], sum = 0;
    for (int64_t c = 1; c < columns; c++) top = x[c] > top ? x[c] : top;
    for (int64_t c = 0; c < columns; c++) y[c] = exp_poly(x[c] - top);
    for (int64_t c = 0; c < columns; c++) sum += y[c];
    const float scale = 1.0f / sum;
    for (int64_t c = 0; c < columns; c++) y[c] *= scale;
  }
  return 0;
}
