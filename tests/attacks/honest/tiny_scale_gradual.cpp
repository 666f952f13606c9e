// expect: PASSED
// task: tiny_scale
// habit: denormals kept, one multiplication instead of two in double
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int64_t i = 0; i < in[0].shape[0]; i++) y[i] = (float)(x[i] * 4e-39);
  return 0;
}
