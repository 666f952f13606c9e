// flags: -O3 -march=native
// Vector body only: the few elements of the tail keep their value.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t body = in[0].shape[0] / 16 * 16;
  for (int64_t i = 0; i < body; i++) y[i] = x[i] < -1.5f ? -1.5f : x[i] > 1.5f ? 1.5f : x[i];
  return 0;
}
