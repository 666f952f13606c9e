// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// GELU in its tanh form over any shape: the whole chain in one loop, so no temporaries, with the C library's tanh.
#include "kernelwright.h"
#include <cmath>
#ifndef CUBIC
#define CUBIC 0.044715f
#endif
#ifndef OUTER
#define OUTER 0.7978845608028654f /* sqrt(2 / pi) */
#endif

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  if (in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  int64_t n = 1;
  for (int i = 0; i < in[0].ndim; i++) n *= in[0].shape[i];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int64_t i = 0; i < n; i++) {
    const float v = x[i];
    y[i] = 0.5f * v * (1.0f + tanhf((float)OUTER * (v + (float)CUBIC * v * v * v)));
  }
  return 0;
}
