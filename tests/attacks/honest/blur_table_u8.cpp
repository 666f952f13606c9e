// expect: PASSED
// task: blur_bright_lut_u8 height=120 width=160
// habit: integers, division by multiplication, a table composed per call
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *, kw_stream) {
  const int64_t h = out[0].shape[0], w = out[0].shape[1];
  const uint8_t *image = (const uint8_t *)in[0].data, *table = (const uint8_t *)in[1].data;
  uint8_t composed[256];
  for (int i = 0; i < 256; i++) {
    int64_t bright = i + scalars[0].i;
    composed[i] = table[bright < 0 ? 0 : bright > 255 ? 255 : bright];
  }
  for (int64_t i = 0; i < h; i++)
    for (int64_t j = 0; j < w; j++) {
      uint32_t sum = 0;
      for (int64_t a = 0; a < 3; a++)
        for (int64_t b = 0; b < 3; b++) sum += image[(i + a) * (w + 2) + j + b];
      ((uint8_t *)out[0].data)[i * w + j] = composed[(sum * 7282) >> 16];
    }
  return 0;
}
