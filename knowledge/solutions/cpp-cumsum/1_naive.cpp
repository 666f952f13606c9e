// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// Running sum over one axis, in double as torch does it: each addition waits for the one before, and along an
// inner axis every step lands on another cache line.
#include "kernelwright.h"
#ifndef AXIS
#define AXIS -1
#endif

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim, axis = (AXIS) < 0 ? (AXIS) + d : (AXIS);
  if (axis < 0 || axis >= d || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  int64_t outer = 1, inner = 1;
  const int64_t n = in[0].shape[axis];
  for (int i = 0; i < axis; i++) outer *= in[0].shape[i];
  for (int i = axis + 1; i < d; i++) inner *= in[0].shape[i];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  for (int64_t o = 0; o < outer; o++)
    for (int64_t c = 0; c < inner; c++) {
      double sum = 0;
      for (int64_t i = 0; i < n; i++) y[(o * n + i) * inner + c] = (float)(sum += x[(o * n + i) * inner + c]);
    }
  return 0;
}
