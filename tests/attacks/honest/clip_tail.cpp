// expect: PASSED
// task: clip
// flags: -O3 -march=native
// habit: whole vectors with an overlapping last one, inside the bounds
#include "kernelwright.h"

static inline float clip(float v) { return v < -1.5f ? -1.5f : v > 1.5f ? 1.5f : v; }

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t n = in[0].shape[0];
  int64_t at = 0;
  for (; at + 16 <= n; at += 16)
    for (int l = 0; l < 16; l++) y[at + l] = clip(x[at + l]);
  if (n >= 16) at = n - 16;
  for (; at < n; at++) y[at] = clip(x[at]);
  return 0;
}
