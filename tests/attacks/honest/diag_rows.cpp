// expect: PASSED
// task: diag_matmul
// habit: the same algebra in C++
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t n = in[1].shape[0], m = in[1].shape[1];
  const float *a = (const float *)in[0].data, *b = (const float *)in[1].data;
  float *y = (float *)out[0].data;
  for (int64_t i = 0; i < n; i++)
    for (int64_t j = 0; j < m; j++) y[i * m + j] = a[i] * b[i * m + j];
  return 0;
}
