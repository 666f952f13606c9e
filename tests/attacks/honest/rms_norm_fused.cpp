// expect: PASSED
// task: rms_norm_residual tokens=64 hidden=512
// habit: two outputs, numbers as scalars
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *, kw_stream) {
  const int64_t tokens = in[0].shape[0], hidden = in[0].shape[1];
  const float *weight = (const float *)in[2].data;
  for (int64_t t = 0; t < tokens; t++) {
    const float *x = (const float *)in[0].data + t * hidden, *r = (const float *)in[1].data + t * hidden;
    float *y = (float *)out[0].data + t * hidden, *total = (float *)out[1].data + t * hidden;
    double squares = 0;
    for (int64_t i = 0; i < hidden; i++) {
      total[i] = x[i] + r[i];
      squares += (double)total[i] * total[i];
    }
    const float scale = (float)(1.0 / std::sqrt(squares / (double)hidden + scalars[1].f));
    for (int64_t i = 0; i < hidden; i++) y[i] = total[i] * scale * weight[i];
  }
  return 0;
}
