// One element of the result at a time; which half it is in is asked for every one.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data, *cosines = (const float *)in[1].data, *sines = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  const int64_t half = in[1].shape[1], positions = in[0].shape[2];
  const int64_t count = in[0].shape[0] * in[0].shape[1] * positions * 2 * half;
  for (int64_t i = 0; i < count; i++) {
    const int64_t d = i % (2 * half), p = i / (2 * half) % positions;
    if (d < half)
      y[i] = x[i] * cosines[p * half + d] - x[i + half] * sines[p * half + d];
    else
      y[i] = x[i] * cosines[p * half + d - half] + x[i - half] * sines[p * half + d - half];
  }
  return 0;
}
