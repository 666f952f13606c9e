// flags: -O3 -march=native -ffast-math
// Branch-free: a comparison makes the mask, eight elements at a time.
#include <immintrin.h>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data;
  const int64_t n = in[0].shape[0] * in[0].shape[1];
  int64_t i = 0;
  for (; i + 8 <= n; i += 8) {
    const __m256 v = _mm256_loadu_ps(x + i);
    _mm256_storeu_ps(y + i, _mm256_and_ps(v, _mm256_cmp_ps(v, _mm256_setzero_ps(), _CMP_GT_OQ)));
  }
  for (; i < n; i++) y[i] = x[i] > 0.0f ? x[i] : 0.0f;
  return 0;
}
