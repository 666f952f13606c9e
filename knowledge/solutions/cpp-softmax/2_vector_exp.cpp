// g++ -O3 -march=native -shared -fPIC 2_vector_exp.cpp -o vector_exp.so
//
// Change: exp as a polynomial on whole vectors. x = n ln 2 + r with |r| <= ln 2 / 2; e^r by a polynomial of degree
// 5 (minimax for the relative error, 9.2e-8, e^0 = 1 exactly), 2^n by adding n to the exponent bits. Arguments
// below -87 give 0 instead of a denormal number. Maximum and sum are kept a lane each and folded once a row; tails
// are scalar.
#include "kernelwright.h"
#include <cmath>
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * VL), aligned(4), may_alias));

static inline vf vexp(vf x) {
  const vf magic = vf{} + 12582912.0f; /* 1.5 * 2^23: adding it rounds to an integer held in the low mantissa bits */
  const vf t = x * 1.44269504f + magic, n = t - magic;
  const vf r = x - n * 0.693359375f - n * -2.12194440e-4f;
  vf p = vf{} + 8.290297711e-3f;
  p = p * r + 4.189802205e-2f;
  p = p * r + 1.666763697e-1f;
  p = p * r + 4.999914885e-1f;
  p = p * r + 9.999997068e-1f;
  p = p * r + 1.0f;
  const vi bits = (vi)p + ((vi)t << 23);
  return (vf)(bits & ~(vi)(x < -87.0f));
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim;
  if (d < 1 || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  const int64_t n = in[0].shape[d - 1], whole = n - n % VL;
  int64_t rows = 1;
  for (int i = 0; i < d - 1; i++) rows *= in[0].shape[i];
  for (int64_t r = 0; r < rows; r++) {
    const float *x = (const float *)in[0].data + r * n;
    float *y = (float *)out[0].data + r * n;
    float max = -INFINITY, sum = 0;
    vf vmax = vf{} + max, vsum = {};
    for (int64_t i = 0; i < whole; i += VL) { vf v = *(const vf *)(x + i); vmax = v > vmax ? v : vmax; }
    for (int k = 0; k < VL; k++) max = vmax[k] > max ? vmax[k] : max;
    for (int64_t i = whole; i < n; i++) max = x[i] > max ? x[i] : max;
    for (int64_t i = 0; i < whole; i += VL) vsum += *(vf *)(y + i) = vexp(*(const vf *)(x + i) - max);
    for (int k = 0; k < VL; k++) sum += vsum[k];
    for (int64_t i = whole; i < n; i++) sum += y[i] = expf(x[i] - max);
    const float scale = 1.0f / sum;
    for (int64_t i = 0; i < whole; i += VL) *(vf *)(y + i) *= scale;
    for (int64_t i = whole; i < n; i++) y[i] *= scale;
  }
  return 0;
}
