// expect: PASSED
// Four rows at a time, so that four chains of additions overlap; sums in double.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  int64_t r = 0;
  for (; r + 4 <= rows; r += 4) {
    double sum[4] = {0, 0, 0, 0};
    for (int64_t c = 0; c < columns; c++)
      for (int l = 0; l < 4; l++) {
        sum[l] += x[(r + l) * columns + c];
        y[(r + l) * columns + c] = (float)sum[l];
      }
  }
  for (; r < rows; r++) {
    double sum = 0;
    for (int64_t c = 0; c < columns; c++) {
      sum += x[r * columns + c];
      y[r * columns + c] = (float)sum;
    }
  }
  return 0;
}
