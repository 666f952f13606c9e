// expect: PASSED
// task: relu
// flags: -O3 -mavx2
// habit: non-temporal stores with a fence
#include <immintrin.h>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t n = in[0].shape[0] * in[0].shape[1];
  int64_t i = 0;
  for (; i < n && ((uintptr_t)(y + i) & 31); i++) y[i] = x[i] > 0 ? x[i] : 0;
  for (; i + 8 <= n; i += 8) _mm256_stream_ps(y + i, _mm256_max_ps(_mm256_loadu_ps(x + i), _mm256_setzero_ps()));
  for (; i < n; i++) y[i] = x[i] > 0 ? x[i] : 0;
  _mm_sfence();
  return 0;
}
