// expect: PASSED
// task: cumsum_rows rows=32 columns=2048
// habit: a running sum in double
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * columns;
    float *y = (float *)out[0].data + r * columns;
    double sum = 0;
    for (int64_t c = 0; c < columns; c++) y[c] = (float)(sum += x[c]);
  }
  return 0;
}
