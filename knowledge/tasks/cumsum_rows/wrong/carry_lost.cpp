// expect: WRONG_VALUES
// Scans chunks of 64 columns and forgets to carry the sum into the next one.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    double sum = 0;
    for (int64_t c = 0; c < columns; c++) {
      if (c % 64 == 0) sum = 0;
      sum += x[r * columns + c];
      y[r * columns + c] = (float)sum;
    }
  }
  return 0;
}
