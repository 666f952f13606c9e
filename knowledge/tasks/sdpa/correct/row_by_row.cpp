// expect: PASSED
// One query at a time: scores, softmax, weighted sum of the values.
#include <cmath>
#include <vector>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *q = (const float *)in[0].data, *k = (const float *)in[1].data, *v = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  const int64_t planes = in[0].shape[0] * in[0].shape[1], n = in[0].shape[2], d = in[0].shape[3];
  const float scale = 1.0f / std::sqrt((float)d);
  std::vector<float> score(n), keys(n * d);
  for (int64_t p = 0; p < planes; p++) {
    for (int64_t j = 0; j < n; j++) /* keys of this head, transposed */
      for (int64_t e = 0; e < d; e++) keys[e * n + j] = k[(p * n + j) * d + e];
    for (int64_t i = 0; i < n; i++) {
      const float *query = q + (p * n + i) * d;
      for (int64_t j = 0; j < n; j++) score[j] = 0;
      for (int64_t e = 0; e < d; e++)
        for (int64_t j = 0; j < n; j++) score[j] += query[e] * keys[e * n + j];
      float largest = score[0];
      for (int64_t j = 1; j < n; j++) largest = score[j] > largest ? score[j] : largest;
      float sum = 0;
      for (int64_t j = 0; j < n; j++) sum += score[j] = expf((score[j] - largest) * scale);
      float *to = y + (p * n + i) * d;
      for (int64_t e = 0; e < d; e++) to[e] = 0;
      for (int64_t j = 0; j < n; j++) {
        const float *line = v + (p * n + j) * d;
        for (int64_t e = 0; e < d; e++) to[e] += score[j] * line[e];
      }
      for (int64_t e = 0; e < d; e++) to[e] /= sum;
    }
  }
  return 0;
}
