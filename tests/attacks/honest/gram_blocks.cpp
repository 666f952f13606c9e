// expect: PASSED
// task: gram_pair
// flags: -O3 -march=native
// habit: dot products by lanes
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t m = in[0].shape[0], k = in[0].shape[1], n = in[1].shape[0];
  const float *a = (const float *)in[0].data, *b = (const float *)in[1].data;
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float lanes[16] = {0}, sum = 0;
      int64_t p = 0;
      for (; p + 16 <= k; p += 16)
        for (int l = 0; l < 16; l++) lanes[l] += a[i * k + p + l] * b[j * k + p + l];
      for (int l = 0; l < 16; l++) sum += lanes[l];
      for (; p < k; p++) sum += a[i * k + p] * b[j * k + p];
      ((float *)out[0].data)[i * n + j] = sum;
    }
  return 0;
}
