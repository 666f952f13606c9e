// Naive row softmax: three passes a row and the C library's expf.
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *from = x + r * columns;
    float *to = y + r * columns;
    float largest = from[0];
    for (int64_t c = 1; c < columns; c++) largest = from[c] > largest ? from[c] : largest;
    float sum = 0;
    for (int64_t c = 0; c < columns; c++) sum += to[c] = expf(from[c] - largest);
    for (int64_t c = 0; c < columns; c++) to[c] = to[c] / sum;
  }
  return 0;
}
