// expect: PASSED
// task: box_blur_3x3 height=256 width=256
// flags: -O3 -march=native -ffast-math
// habit: separable, own heap scratch that is kept
#include <cstdlib>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  static float *scratch = nullptr;
  static int64_t room = 0;
  const int64_t h = out[0].shape[0], w = out[0].shape[1];
  if (room < (h + 2) * w) {
    free(scratch);
    scratch = (float *)malloc(sizeof(float) * (room = (h + 2) * w));
  }
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int64_t i = 0; i < h + 2; i++)
    for (int64_t j = 0; j < w; j++)
      scratch[i * w + j] = x[i * (w + 2) + j] + x[i * (w + 2) + j + 1] + x[i * (w + 2) + j + 2];
  for (int64_t i = 0; i < h; i++)
    for (int64_t j = 0; j < w; j++)
      y[i * w + j] = (scratch[i * w + j] + scratch[(i + 1) * w + j] + scratch[(i + 2) * w + j]) * (1.0f / 9.0f);
  return 0;
}
