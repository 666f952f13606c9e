// expect: WRONG_VALUES
// Adds 8-bit pixels in 8 bits.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *, kw_stream) {
  const uint8_t *image = (const uint8_t *)in[0].data, *table = (const uint8_t *)in[1].data;
  uint8_t *to = (uint8_t *)out[0].data;
  const int64_t height = out[0].shape[0], width = out[0].shape[1], pitch = in[0].shape[1];
  for (int64_t y = 0; y < height; y++)
    for (int64_t x = 0; x < width; x++) {
      uint8_t sum = 0;
      for (int dy = 0; dy < 3; dy++)
        for (int dx = 0; dx < 3; dx++) sum += image[(y + dy) * pitch + x + dx];
      int64_t level = sum / 9 + scalars[0].i;
      to[y * width + x] = table[level > 255 ? 255 : level];
    }
  return 0;
}
