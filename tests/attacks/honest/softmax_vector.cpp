// expect: PASSED
// task: row_softmax
// flags: -O3 -march=native -ffast-math
// habit: vectorised by the compiler, sum in float lanes
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *from = (const float *)in[0].data + r * columns;
    float *to = (float *)out[0].data + r * columns, top = from[0];
    float sum = 0;
    for (int64_t c = 1; c < columns; c++) top = from[c] > top ? from[c] : top;
    for (int64_t c = 0; c < columns; c++) sum += to[c] = std::exp(from[c] - top);
    for (int64_t c = 0; c < columns; c++) to[c] = to[c] / sum;
  }
  return 0;
}
