// expect: PASSED
// The weight is transposed once in kw_prepare; then four rows of x at a time, updates along the output row.
#include <cstdlib>

#include "kernelwright.h"

int kw_prepare(const kw_tensor *in, const kw_scalar *, kw_workspace *ws) {
  const float *weight = (const float *)in[1].data; /* [out, in] */
  const int64_t n = in[1].shape[0], k = in[1].shape[1];
  float *packed = (float *)aligned_alloc(64, (size_t)((n * k * 4 + 63) / 64 * 64));
  if (!packed) return 1;
  for (int64_t i = 0; i < k; i++)
    for (int64_t j = 0; j < n; j++) packed[i * n + j] = weight[j * k + i];
  ws->state = packed;
  return 0;
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const float *x = (const float *)in[0].data, *bias = (const float *)in[2].data;
  const float *packed = (const float *)ws->state; /* [in, out] */
  float *y = (float *)out[0].data;
  const int64_t m = in[0].shape[0], k = in[0].shape[1], n = out[0].shape[1];
  for (int64_t row = 0; row < m; row += 4) {
    const int64_t rows = m - row < 4 ? m - row : 4;
    for (int64_t r = row; r < row + rows; r++)
      for (int64_t j = 0; j < n; j++) y[r * n + j] = bias[j];
    for (int64_t i = 0; i < k; i++) {
      const float *line = packed + i * n;
      for (int64_t r = row; r < row + rows; r++) {
        const float a = x[r * k + i];
        float *to = y + r * n;
        for (int64_t j = 0; j < n; j++) to[j] += a * line[j];
      }
    }
    for (int64_t r = row; r < row + rows; r++)
      for (int64_t j = 0; j < n; j++) y[r * n + j] = y[r * n + j] > 0 ? y[r * n + j] : 0;
  }
  return 0;
}
