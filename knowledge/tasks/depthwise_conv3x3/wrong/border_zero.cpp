// expect: WRONG_VALUES
// Only the inner pixels are computed; the border gets the bias.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data, *weight = (const float *)in[1].data, *bias = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  const int64_t batch = in[0].shape[0], channels = in[0].shape[1], h = in[0].shape[2], w = in[0].shape[3];
  for (int64_t plane = 0; plane < batch * channels; plane++) {
    const int64_t c = plane % channels;
    for (int64_t i = 0; i < h; i++)
      for (int64_t j = 0; j < w; j++) {
        float sum = bias[c];
        if (i > 0 && i < h - 1 && j > 0 && j < w - 1)
          for (int64_t a = 0; a < 3; a++)
            for (int64_t b = 0; b < 3; b++)
              sum += weight[c * 9 + a * 3 + b] * x[(plane * h + i + a - 1) * w + j + b - 1];
        y[(plane * h + i) * w + j] = sum;
      }
  }
  return 0;
}
