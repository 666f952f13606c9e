// expect: PASSED
// Squares summed in double, then one scale a row. The scalar is get_init_inputs(): eps.
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *from = x + r * columns;
    double squares = 0;
    for (int64_t c = 0; c < columns; c++) squares += (double)from[c] * from[c];
    const double norm = std::sqrt(squares);
    const double scale = 1.0 / (norm > scalars[0].f ? norm : scalars[0].f);
    for (int64_t c = 0; c < columns; c++) y[r * columns + c] = (float)(from[c] * scale);
  }
  return 0;
}
