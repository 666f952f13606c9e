// expect: WRONG_VALUES
// The first output is right, the second is x without the residual.
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data, *residual = (const float *)in[1].data;
  const float *weight = (const float *)in[2].data;
  float *normalised = (float *)out[0].data, *total = (float *)out[1].data;
  const int64_t tokens = in[0].shape[0], hidden = in[0].shape[1];
  for (int64_t t = 0; t < tokens; t++) {
    const int64_t at = t * hidden;
    double squares = 0;
    for (int64_t h = 0; h < hidden; h++) {
      const double sum = x[at + h] + residual[at + h];
      squares += sum * sum;
    }
    const float scale = (float)(1.0 / std::sqrt(squares / hidden + scalars[1].f));
    for (int64_t h = 0; h < hidden; h++) {
      normalised[at + h] = (x[at + h] + residual[at + h]) * scale * weight[h];
      total[at + h] = x[at + h];
    }
  }
  return 0;
}
