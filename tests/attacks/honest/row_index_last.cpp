// expect: PASSED
// task: row_index
// habit: index output; of equal elements it takes another than the reference may
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * columns;
    int64_t best = 0;
    for (int64_t c = 1; c < columns; c++)
      if (x[c] >= x[best]) best = c;
    ((int64_t *)out[0].data)[r] = best;
  }
  return 0;
}
