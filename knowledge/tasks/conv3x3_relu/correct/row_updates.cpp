// expect: PASSED
// Each tap of each input channel updates a whole output row.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data, *weight = (const float *)in[1].data, *bias = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  const int64_t batch = in[0].shape[0], channels = in[0].shape[1], h = in[0].shape[2], w = in[0].shape[3];
  const int64_t outs = out[0].shape[1];
  for (int64_t n = 0; n < batch; n++)
    for (int64_t o = 0; o < outs; o++)
      for (int64_t i = 0; i < h; i++) {
        float *to = y + ((n * outs + o) * h + i) * w;
        for (int64_t j = 0; j < w; j++) to[j] = bias[o];
        for (int64_t c = 0; c < channels; c++)
          for (int64_t a = 0; a < 3; a++) {
            if (i + a < 1 || i + a > h) continue;
            const float *from = x + ((n * channels + c) * h + i + a - 1) * w;
            for (int64_t b = 0; b < 3; b++) {
              const float tap = weight[((o * channels + c) * 3 + a) * 3 + b];
              const int64_t begin = b == 0 ? 1 : 0, end = b == 2 ? w - 1 : w;
              for (int64_t j = begin; j < end; j++) to[j] += tap * from[j + b - 1];
            }
          }
        for (int64_t j = 0; j < w; j++) to[j] = to[j] > 0 ? to[j] : 0;
      }
  return 0;
}
