// expect: PASSED
// task: row_softmax
// habit: online softmax, one pass for maximum and sum
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * columns;
    float *y = (float *)out[0].data + r * columns, top = -INFINITY;
    double sum = 0;
    for (int64_t c = 0; c < columns; c++) {
      if (x[c] > top) {
        sum *= std::exp((double)top - x[c]);
        top = x[c];
      }
      sum += std::exp(x[c] - top);
    }
    const float scale = (float)(1.0 / sum);
    for (int64_t c = 0; c < columns; c++) y[c] = std::exp(x[c] - top) * scale;
  }
  return 0;
}
