// expect: WRONG_VALUES
// Divides by the squared norm.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    double squares = 0;
    for (int64_t c = 0; c < columns; c++) squares += (double)x[r * columns + c] * x[r * columns + c];
    const double scale = 1.0 / (squares > scalars[0].f ? squares : scalars[0].f);
    for (int64_t c = 0; c < columns; c++) y[r * columns + c] = (float)(x[r * columns + c] * scale);
  }
  return 0;
}
