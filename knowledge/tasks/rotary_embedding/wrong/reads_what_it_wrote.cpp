// expect: WRONG_VALUES
// The second half is computed from the first half of the result instead of the first half of the input.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data, *cosines = (const float *)in[1].data, *sines = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  const int64_t half = in[1].shape[1], positions = in[0].shape[2], lines = in[0].shape[0] * in[0].shape[1] * positions;
  for (int64_t line = 0; line < lines; line++) {
    const float *a = x + line * 2 * half, *b = a + half;
    const float *c = cosines + line % positions * half, *s = sines + line % positions * half;
    float *to = y + line * 2 * half;
    for (int64_t d = 0; d < half; d++) {
      to[d] = a[d] * c[d] - b[d] * s[d];
      to[half + d] = b[d] * c[d] + to[d] * s[d];
    }
  }
  return 0;
}
