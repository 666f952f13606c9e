// expect: PASSED
// task: linear_bias
// flags: -O3 -march=native -fopenmp
// habit: thread-parallel code, here on the threads it is given
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const int64_t m = in[0].shape[0], k = in[0].shape[1], n = in[1].shape[0];
  const float *x = (const float *)in[0].data, *w = (const float *)in[1].data, *bias = (const float *)in[2].data;
  float *y = (float *)out[0].data;
#pragma omp parallel for num_threads(ws->threads)
  for (int64_t i = 0; i < m; i++)
    for (int64_t j = 0; j < n; j++) {
      float lanes[16] = {0}, sum = bias[j];
      int64_t p = 0;
      for (; p + 16 <= k; p += 16)
        for (int l = 0; l < 16; l++) lanes[l] += x[i * k + p + l] * w[j * k + p + l];
      for (int l = 0; l < 16; l++) sum += lanes[l];
      for (; p < k; p++) sum += x[i * k + p] * w[j * k + p];
      y[i * n + j] = sum;
    }
  return 0;
}
