// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// relu(x @ weight.T + bias) with x [..., K], weight [N, K], bias [N]: a dot product for every result. Both
// operands are read along K, but the additions of one dot product wait for each other.
#include "kernelwright.h"
#ifndef RELU
#define RELU 1
#endif

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const int d = in[0].ndim;
  if (ws->n_in != 3 || ws->n_params != 2 || d < 1 || in[0].dtype != KW_FLOAT32 || in[1].ndim != 2) return 1;
  const int64_t N = in[1].shape[0], K = in[1].shape[1];
  if (in[0].shape[d - 1] != K) return 2;
  int64_t M = 1;
  for (int i = 0; i < d - 1; i++) M *= in[0].shape[i];
  const float *x = (const float *)in[0].data, *w = (const float *)in[1].data, *bias = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  for (int64_t m = 0; m < M; m++)
    for (int64_t n = 0; n < N; n++) {
      float sum = bias[n];
      for (int64_t k = 0; k < K; k++) sum += x[m * K + k] * w[n * K + k];
      y[m * N + n] = RELU && sum < 0 ? 0 : sum;
    }
  return 0;
}
