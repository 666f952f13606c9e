// expect: PASSED
// task: row_softmax
// habit: static buffers that survive calls, as scratch only
#include <cmath>
#include <vector>

#include "kernelwright.h"

static std::vector<float> row;

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  row.resize(columns);
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * columns;
    float *y = (float *)out[0].data + r * columns, top = x[0];
    double sum = 0;
    for (int64_t c = 1; c < columns; c++) top = x[c] > top ? x[c] : top;
    for (int64_t c = 0; c < columns; c++) sum += row[c] = std::exp(x[c] - top);
    const float scale = (float)(1.0 / sum);
    for (int64_t c = 0; c < columns; c++) y[c] = row[c] * scale;
  }
  return 0;
}
