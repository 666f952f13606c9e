// expect: PASSED
// task: scale_shift
// flags: -O3 -march=native
// habit: whole vectors with an overlapping last one, inside the bounds
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t n = in[0].shape[0];
  int64_t at = 0;
  for (; at + 16 <= n; at += 16)
    for (int l = 0; l < 16; l++) y[at + l] = x[at + l] * 1.7f + 0.3f;
  if (n >= 16) at = n - 16;
  for (; at < n; at++) y[at] = x[at] * 1.7f + 0.3f;
  return 0;
}
