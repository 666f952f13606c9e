// expect: PASSED
// task: relu
// flags: -O3 -march=native -funroll-loops
// habit: pragmas and restrict
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *__restrict x = (const float *)in[0].data;
  float *__restrict y = (float *)out[0].data;
  const int64_t n = in[0].shape[0] * in[0].shape[1];
#pragma GCC ivdep
  for (int64_t i = 0; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0;
  return 0;
}
