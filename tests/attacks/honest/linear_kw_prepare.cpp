// expect: PASSED
// task: linear_bias
// flags: -O3 -march=native
// habit: weight packing in kw_prepare, kept in ws->state
#include <vector>

#include "kernelwright.h"

KW_EXPORT int kw_prepare(const kw_tensor *in, const kw_scalar *, kw_workspace *ws) {
  const int64_t n = in[1].shape[0], k = in[1].shape[1];
  const float *w = (const float *)in[1].data;
  auto *packed = new std::vector<float>(n * k);
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < k; j++) (*packed)[j * n + i] = w[i * k + j];
  ws->state = packed;
  return 0;
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const int64_t m = in[0].shape[0], k = in[0].shape[1], n = in[1].shape[0];
  const float *x = (const float *)in[0].data, *bias = (const float *)in[2].data;
  const float *w = ((std::vector<float> *)ws->state)->data();
  float *y = (float *)out[0].data;
  for (int64_t i = 0; i < m; i++) {
    float *to = y + i * n;
    for (int64_t j = 0; j < n; j++) to[j] = bias[j];
    for (int64_t p = 0; p < k; p++) {
      const float v = x[i * k + p];
      for (int64_t j = 0; j < n; j++) to[j] += v * w[p * n + j];
    }
  }
  return 0;
}
