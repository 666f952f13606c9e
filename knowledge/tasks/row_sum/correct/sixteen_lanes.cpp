// expect: PASSED
// Sixteen partial sums a row, so that additions are independent and errors stay small.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *from = x + r * columns;
    double total = 0;
    for (int64_t block = 0; block < columns; block += 2048) {
      const int64_t end = block + 2048 < columns ? block + 2048 : columns;
      float lane[16] = {0};
      int64_t c = block;
      for (; c + 16 <= end; c += 16)
        for (int l = 0; l < 16; l++) lane[l] += from[c + l];
      for (; c < end; c++) total += from[c];
      for (int l = 0; l < 16; l++) total += lane[l];
    }
    y[r] = (float)total;
  }
  return 0;
}
