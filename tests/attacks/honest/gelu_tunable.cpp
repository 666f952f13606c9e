// expect: PASSED
// task: gelu_chain
// tunable BLOCK = 64 in {16, 64, 256}
// habit: compile-time tunables, non-temporal hints left to the compiler
#include <cmath>

#include "kernelwright.h"
#ifndef BLOCK
#define BLOCK 64
#endif

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t n = in[0].shape[0] * in[0].shape[1];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int64_t at = 0; at < n; at += BLOCK) {
    const int64_t end = at + BLOCK < n ? at + BLOCK : n;
    for (int64_t i = at; i < end; i++)
      y[i] = 0.5f * x[i] * (1.0f + std::tanh(0.7978845608028654f * (x[i] + 0.044715f * x[i] * x[i] * x[i])));
  }
  return 0;
}
