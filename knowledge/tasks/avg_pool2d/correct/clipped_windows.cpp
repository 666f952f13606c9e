// expect: PASSED
// Windows clipped at the border, always divided by nine.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t planes = in[0].shape[0] * in[0].shape[1], h = in[0].shape[2], w = in[0].shape[3];
  const int64_t oh = out[0].shape[2], ow = out[0].shape[3];
  for (int64_t p = 0; p < planes; p++)
    for (int64_t i = 0; i < oh; i++)
      for (int64_t j = 0; j < ow; j++) {
        float sum = 0;
        for (int64_t a = 2 * i - 1; a <= 2 * i + 1; a++)
          for (int64_t b = 2 * j - 1; b <= 2 * j + 1; b++)
            if (a >= 0 && a < h && b >= 0 && b < w) sum += x[(p * h + a) * w + b];
        y[(p * oh + i) * ow + j] = sum / 9.0f;
      }
  return 0;
}
