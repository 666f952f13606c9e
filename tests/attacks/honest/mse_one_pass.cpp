// expect: PASSED
// task: mse_unit
// flags: -O3 -march=native
// habit: a scalar result, two inputs, one pass
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t n = in[0].shape[0] * in[0].shape[1];
  const float *p = (const float *)in[0].data, *t = (const float *)in[1].data;
  double total = 0;
  for (int64_t at = 0; at < n; at += 4096) {
    const int64_t end = at + 4096 < n ? at + 4096 : n;
    float lanes[16] = {0};
    int64_t i = at;
    for (; i + 16 <= end; i += 16)
      for (int l = 0; l < 16; l++) lanes[l] += (p[i + l] - t[i + l]) * (p[i + l] - t[i + l]);
    for (int l = 0; l < 16; l++) total += lanes[l];
    for (; i < end; i++) total += (double)(p[i] - t[i]) * (p[i] - t[i]);
  }
  *(float *)out[0].data = (float)(total / (double)n);
  return 0;
}
