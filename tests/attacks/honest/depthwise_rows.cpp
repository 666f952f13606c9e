// expect: PASSED
// task: depthwise_conv3x3 channels=8 height=56 width=56
// flags: -O3 -march=native
// habit: interior and border apart
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t planes = in[0].shape[0] * in[0].shape[1], channels = in[0].shape[1];
  const int64_t h = in[0].shape[2], w = in[0].shape[3];
  const float *weight = (const float *)in[1].data, *bias = (const float *)in[2].data;
  for (int64_t p = 0; p < planes; p++) {
    const float *x = (const float *)in[0].data + p * h * w, *k = weight + (p % channels) * 9;
    float *y = (float *)out[0].data + p * h * w;
    for (int64_t i = 0; i < h; i++) {
      for (int64_t j = 0; j < w; j++) y[i * w + j] = bias[p % channels];
      for (int64_t a = 0; a < 3; a++) {
        const int64_t row = i + a - 1;
        if (row < 0 || row >= h) continue;
        for (int64_t b = 0; b < 3; b++) {
          const int64_t low = b == 0, high = b == 2 ? w - 1 : w;
          for (int64_t j = low; j < high; j++) y[i * w + j] += k[a * 3 + b] * x[row * w + j + b - 1];
        }
      }
    }
  }
  return 0;
}
