// expect: PASSED
// task: cross_entropy batch=64 classes=1024
// habit: gathers by an integer input; log-sum-exp in one kernel
#include <cmath>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t batch = in[0].shape[0], classes = in[0].shape[1];
  const int64_t *target = (const int64_t *)in[1].data;
  for (int64_t b = 0; b < batch; b++) {
    const float *x = (const float *)in[0].data + b * classes;
    float top = x[0];
    double sum = 0;
    for (int64_t c = 1; c < classes; c++) top = x[c] > top ? x[c] : top;
    for (int64_t c = 0; c < classes; c++) sum += std::exp(x[c] - top);
    ((float *)out[0].data)[b] = (float)(std::log(sum) + top - x[target[b]]);
  }
  return 0;
}
