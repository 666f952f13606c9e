// expect: WRONG_VALUES
// Off by one: the last column counts neither for the maximum nor for the sum.
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *from = x + r * columns;
    float *to = y + r * columns;
    float largest = from[0], sum = 0;
    for (int64_t c = 1; c < columns - 1; c++) largest = from[c] > largest ? from[c] : largest;
    for (int64_t c = 0; c < columns - 1; c++) sum += expf(from[c] - largest);
    for (int64_t c = 0; c < columns; c++) to[c] = c < columns - 1 ? expf(from[c] - largest) / sum : 0.0f;
  }
  return 0;
}
