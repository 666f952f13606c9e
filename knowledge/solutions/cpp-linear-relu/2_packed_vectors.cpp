// g++ -O3 -march=native -shared -fPIC 2_packed_vectors.cpp -o packed_vectors.so
//
// Change: kw_prepare transposes the weight once into panels of 16 outputs, [N / 16][K][16], padded with zeros. A
// vector then holds 16 neighbouring outputs: no sum across lanes, and x is one broadcast for sixteen
// multiplications. Two loads for every FMA still make the load ports the limit.
#include "kernelwright.h"
#include <cstdlib>
#ifndef RELU
#define RELU 1
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));

extern "C" int kw_prepare(const kw_tensor *in, const kw_scalar *, kw_workspace *ws) {
  if (ws->n_in != 3 || ws->n_params != 2 || in[1].ndim != 2 || in[1].dtype != KW_FLOAT32) return 1;
  const int64_t N = in[1].shape[0], K = in[1].shape[1], panels = (N + VL - 1) / VL;
  const float *w = (const float *)in[1].data;
  float *packed = (float *)aligned_alloc(64, sizeof(float) * (size_t)(panels * K * VL + VL));
  if (!packed) return 2;
  for (int64_t n = 0; n < panels * VL; n++)
    for (int64_t k = 0; k < K; k++) packed[(n / VL * K + k) * VL + n % VL] = n < N ? w[n * K + k] : 0;
  ws->state = packed;
  return 0;
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const int d = in[0].ndim;
  if (!ws->state || d < 1 || in[0].dtype != KW_FLOAT32) return 1;
  const int64_t N = in[1].shape[0], K = in[1].shape[1];
  if (in[0].shape[d - 1] != K) return 2;
  int64_t M = 1;
  for (int i = 0; i < d - 1; i++) M *= in[0].shape[i];
  const float *x = (const float *)in[0].data, *packed = (const float *)ws->state, *bias = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  for (int64_t n = 0; n < N; n += VL)
    for (int64_t m = 0; m < M; m++) {
      vf sum = {};
      for (int64_t k = 0; k < K; k++) sum += x[m * K + k] * *(const vf *)(packed + n * K + k * VL);
      for (int64_t j = 0; j < VL && n + j < N; j++) {
        const float v = sum[j] + bias[n + j];
        y[m * N + n + j] = RELU && v < 0 ? 0 : v;
      }
    }
  return 0;
}
