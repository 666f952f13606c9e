// expect: PASSED
// task: row_mean
// flags: -O3 -march=native
// habit: sums in another order, 64 lanes, no atomics
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * columns;
    float lanes[64] = {0};
    int64_t c = 0;
    for (; c + 64 <= columns; c += 64)
      for (int l = 0; l < 64; l++) lanes[l] += x[c + l];
    double sum = 0;
    for (int l = 0; l < 64; l++) sum += lanes[l];
    for (; c < columns; c++) sum += x[c];
    ((float *)out[0].data)[r] = (float)(sum / (double)columns);
  }
  return 0;
}
