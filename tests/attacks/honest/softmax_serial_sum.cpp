// expect: PASSED
// task: row_softmax columns=8192
// habit: one float32 sum over a row of thousands, term by term
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * columns;
    float *y = (float *)out[0].data + r * columns, top = x[0], sum = 0;
    for (int64_t c = 1; c < columns; c++) top = x[c] > top ? x[c] : top;
    for (int64_t c = 0; c < columns; c++) sum += y[c] = std::exp(x[c] - top);
    for (int64_t c = 0; c < columns; c++) y[c] /= sum;
  }
  return 0;
}
