// g++ -O3 -march=native -shared -fPIC 4_blocked.cpp -o blocked.so
//
// Change: x is taken MC rows at a time, so that those rows and one panel fit the second-level cache: x then comes
// from further out once instead of once a panel, the weight once every MC rows. K is cut into shares of KC, so
// that this holds however long K is; partial sums then go through y. The MR rows that the next tile reads are
// asked for at one line a step: they are short streams that no hardware prefetcher follows.
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
#define MR (VL == 16 ? 8 : 6)
#endif
#ifndef NV
#define NV (VL == 16 ? 3 : 2)
#endif
#ifndef KC
#define KC 2048 /* steps of K at a time: a share of a panel, KC * NB floats, should fit the second-level cache */
#endif
#ifndef MC
#define MC 384 /* rows of x at a time: with a panel they should fit the second-level cache, MC * KC floats at most */
#endif
#ifndef AHEAD
#define AHEAD 1 /* 1 asks for the next tile's rows of x during this one; 0 does not */
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

/* acc[MR][NB] += x[MR][steps] * panel[steps][NB], MR rows given by their addresses */
static void tile(const float *const *x, const float *panel, int64_t steps, const float *next, vf (*acc)[NV]) {
  vf sum[MR][NV];
  for (int r = 0; r < MR; r++)
    for (int v = 0; v < NV; v++) sum[r][v] = acc[r][v];
  for (int64_t k = 0; k < steps; k++) {
    vf b[NV];
    for (int v = 0; v < NV; v++) b[v] = *(const vf *)(panel + k * NB + v * VL);
    if (AHEAD) __builtin_prefetch(next + k * MR);
    for (int r = 0; r < MR; r++)
      for (int v = 0; v < NV; v++) sum[r][v] += x[r][k] * b[v];
  }
  for (int r = 0; r < MR; r++)
    for (int v = 0; v < NV; v++) acc[r][v] = sum[r][v];
}

struct Rows { float *y; int64_t N, n, rows; bool first, last; };

/* Where a tile starts: at the bias, or at what earlier shares of K left in y. */
static void load(const Rows &t, const float *bias, vf (*acc)[NV]) {
  const int64_t width = t.N - t.n < NB ? t.N - t.n : NB;
  for (int64_t r = 0; r < MR; r++) {
    const float *s = t.first || r >= t.rows ? bias : t.y + r * t.N + t.n;
    for (int v = 0; AHEAD && v < NV; v++) __builtin_prefetch(t.y + r * t.N + t.n + v * VL, 1);
    for (int v = 0; v < NV; v++)
      if (s == bias || (v + 1) * VL <= width) acc[r][v] = *(const vf *)(s + v * VL);
      else
        for (int64_t j = v * VL; j < width; j++) acc[r][v][j % VL] = s[j];
  }
}

static void store(const Rows &t, vf (*acc)[NV]) {
  const int64_t width = t.N - t.n < NB ? t.N - t.n : NB;
  for (int64_t r = 0; r < MR && r < t.rows; r++)
    for (int v = 0; v < NV; v++) {
      vf a = acc[r][v];
      if (RELU && t.last) a = a > 0.0f ? a : vf{};
      float *d = t.y + r * t.N + t.n + v * VL;
      if ((v + 1) * VL <= width) *(vf *)d = a;
      else
        for (int64_t j = 0; v * VL + j < width; j++) d[j] = a[j];
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
  const int64_t chunk = MC / MR * MR;
  for (int64_t m0 = 0; m0 < M; m0 += chunk)
    for (int64_t n = 0; n < N; n += NB) {
      const float *panel = packed + n * (K + 1);
      const int64_t end = m0 + chunk < M ? m0 + chunk : M;
      for (int64_t k = 0; k < K; k += KC)
        for (int64_t m = m0; m < end; m += MR) {
          const float *rows[MR];
          for (int r = 0; r < MR; r++) rows[r] = x + (m + r < M ? m + r : M - 1) * K + k;
          const Rows t = {y + m * N, N, n, M - m, k == 0, k + KC >= K};
          vf acc[MR][NV];
          load(t, panel + K * NB, acc);
          tile(rows, panel + k * NB, K - k < KC ? K - k : KC, x + (m + MR) * K + k, acc);
          store(t, acc);
        }
    }
  return 0;
}
