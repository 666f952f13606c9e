// g++ -O3 -march=native -shared -fPIC 3_register_tile.cpp -o register_tile.so
//
// Change: a tile of MR rows x NV vectors of outputs lives in registers through the whole sum over K. One step in k
// loads NV vectors and MR broadcasts for MR * NV multiply-adds; with 6 x 4 that is 10 loads for 24 of them, so the
// two FMA units set the pace. The packed weight has panels of NV * 16 outputs. Rows beyond the last repeat it and
// are not stored.
#include "kernelwright.h"
#include <cstdlib>
#ifndef RELU
#define RELU 1
#endif
#if defined(__AVX512F__)
#define VL 16
#else
#define VL 8
#endif
#ifndef MR
#define MR (VL == 16 ? 6 : 4)
#endif
#ifndef NV
#define NV (VL == 16 ? 4 : 2)
#endif
#define NB (NV * VL)
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));

extern "C" int kw_prepare(const kw_tensor *in, const kw_scalar *, kw_workspace *ws) {
  if (ws->n_in != 3 || ws->n_params != 2 || in[1].ndim != 2 || in[1].dtype != KW_FLOAT32) return 1;
  const int64_t N = in[1].shape[0], K = in[1].shape[1], panels = (N + NB - 1) / NB;
  const float *w = (const float *)in[1].data, *b = (const float *)in[2].data;
  float *packed = (float *)aligned_alloc(64, sizeof(float) * (size_t)(panels * NB * (K + 1)));
  if (!packed) return 2;
  for (int64_t p = 0; p < panels; p++) /* a panel: K rows of NB weights, then its NB biases */
    for (int64_t j = 0; j < NB; j++) {
      float *d = packed + p * NB * (K + 1) + j;
      const int64_t n = p * NB + j;
      for (int64_t k = 0; k < K; k++) d[k * NB] = n < N ? w[n * K + k] : 0;
      d[K * NB] = n < N ? b[n] : 0;
    }
  ws->state = packed;
  return 0;
}

/* y[MR][NB] = relu(x[MR][K] * panel[K][NB] + bias), MR rows given by their addresses */
static void tile(const float *const *x, const float *panel, int64_t K, vf (*acc)[NV]) {
  for (int r = 0; r < MR; r++)
    for (int v = 0; v < NV; v++) acc[r][v] = *(const vf *)(panel + K * NB + v * VL);
  vf sum[MR][NV] = {};
  for (int64_t k = 0; k < K; k++) {
    vf b[NV];
    for (int v = 0; v < NV; v++) b[v] = *(const vf *)(panel + k * NB + v * VL);
    for (int r = 0; r < MR; r++)
      for (int v = 0; v < NV; v++) sum[r][v] += x[r][k] * b[v];
  }
  for (int r = 0; r < MR; r++)
    for (int v = 0; v < NV; v++) {
      const vf t = acc[r][v] + sum[r][v];
      acc[r][v] = RELU ? (t > 0.0f ? t : vf{}) : t;
    }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const int d = in[0].ndim;
  if (!ws->state || d < 1 || in[0].dtype != KW_FLOAT32) return 1;
  const int64_t N = in[1].shape[0], K = in[1].shape[1];
  if (in[0].shape[d - 1] != K) return 2;
  int64_t M = 1;
  for (int i = 0; i < d - 1; i++) M *= in[0].shape[i];
  const float *x = (const float *)in[0].data, *packed = (const float *)ws->state;
  float *y = (float *)out[0].data;
  for (int64_t n = 0; n < N; n += NB)
    for (int64_t m = 0; m < M; m += MR) {
      const float *rows[MR];
      for (int r = 0; r < MR; r++) rows[r] = x + (m + r < M ? m + r : M - 1) * K;
      vf acc[MR][NV];
      tile(rows, packed + n * (K + 1), K, acc);
      const int64_t width = N - n < NB ? N - n : NB;
      for (int64_t r = 0; r < MR && m + r < M; r++) {
        float *d2 = y + (m + r) * N + n;
        if (width == NB)
          for (int v = 0; v < NV; v++) *(vf *)(d2 + v * VL) = acc[r][v];
        else
          for (int64_t j = 0; j < width; j++) d2[j] = acc[r][j / VL][j % VL];
      }
    }
  return 0;
}
