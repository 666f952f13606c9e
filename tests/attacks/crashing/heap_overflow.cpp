// expect: RUNTIME_ERROR CHEATED WRONG_VALUES NONFINITE
// task: row_softmax
// Writes far beyond its output.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  float *y = (float *)out[0].data;
  for (long i = 0; i < (8L << 20) + in[0].ndim; i++) y[i] = 1;
  return 0;
}
