// expect: WRONG_VALUES
// Sums whole blocks of 48 columns and forgets the rest of the row.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    double sum = 0;
    for (int64_t c = 0; c + 48 <= columns; c += 48)
      for (int64_t l = 0; l < 48; l++) sum += x[r * columns + c + l];
    y[r] = (float)sum;
  }
  return 0;
}
