// Naive 3x3 box blur: nine taps for every pixel, row after row.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *image = (const float *)in[0].data;
  float *blurred = (float *)out[0].data;
  const int64_t height = out[0].shape[0], width = out[0].shape[1], pitch = in[0].shape[1];
  for (int64_t y = 0; y < height; y++)
    for (int64_t x = 0; x < width; x++) {
      float sum = 0;
      for (int64_t dy = 0; dy < 3; dy++)
        for (int64_t dx = 0; dx < 3; dx++) sum += image[(y + dy) * pitch + x + dx];
      blurred[y * width + x] = sum / 9.0f;
    }
  return 0;
}
