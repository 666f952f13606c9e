// g++ -O3 -march=native -shared -fPIC 3_register_tiles.cpp -o register_tiles.so
//
// Change: both products run on tiles of MR rows x NV vectors that stay in registers (6 x 64 with AVX-512: 10 loads
// for 24 multiply-adds). k is packed in panels of 64 keys, v in panels of 64 columns; MR rows of scores lie in
// between.
#include "kernelwright.h"
#include <cmath>
#include <cstdlib>
#ifndef SCALE
#define SCALE 0 /* what q . k is multiplied by; 0 means 1 / sqrt(head size) */
#endif
#if defined(__AVX512F__)
#define VL 16
#else
#define VL 8
#endif
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));
typedef int32_t vi __attribute__((vector_size(4 * VL), aligned(4), may_alias));
#ifndef MR
#define MR (VL == 16 ? 6 : 4) /* rows of q in a tile */
#endif
#ifndef NV
#define NV (VL == 16 ? 4 : 2) /* vectors of keys, or of v's columns, in a tile */
#endif
#define NB (NV * VL)

struct Shape { int64_t heads, Q, K, D, E; float scale; };

/* q [..., Q, D], k [..., K, D], v [..., K, E], y [..., Q, E] with the same leading axes; no heads when they do not fit. */
static Shape shape_of(const kw_tensor *in, const kw_tensor &y) {
  const int d = in[0].ndim;
  if (d < 2 || in[1].ndim != d || in[2].ndim != d || y.ndim != d || in[0].dtype != KW_FLOAT32) return {};
  Shape s = {1, in[0].shape[d - 2], in[1].shape[d - 2], in[0].shape[d - 1], in[2].shape[d - 1], 0};
  for (int i = 0; i < d - 2; i++) {
    if (in[1].shape[i] != in[0].shape[i] || in[2].shape[i] != in[0].shape[i]) return {};
    s.heads *= in[0].shape[i];
  }
  s.scale = (SCALE) > 0 ? (float)(SCALE) : 1.0f / sqrtf((float)s.D);
  if (in[1].shape[d - 1] != s.D || in[2].shape[d - 2] != s.K || y.shape[d - 2] != s.Q || y.shape[d - 1] != s.E) return {};
  return s;
}

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

static inline float fold_sum(vf v) {
  for (int w = VL / 2; w; w /= 2)
    for (int k = 0; k < w; k++) v[k] += v[k + w];
  return v[0];
}

static inline float fold_max(vf v) {
  float m = v[0];
  for (int k = 1; k < VL; k++) m = v[k] > m ? v[k] : m;
  return m;
}

/* acc[MR][NB] += a[MR rows][steps] * panel[steps][NB] */
static void tile(const float *const *a, const float *panel, int64_t steps, vf (*acc)[NV]) {
  vf sum[MR][NV];
  for (int r = 0; r < MR; r++)
    for (int v = 0; v < NV; v++) sum[r][v] = acc[r][v];
  for (int64_t k = 0; k < steps; k++) {
    vf b[NV];
    for (int v = 0; v < NV; v++) b[v] = *(const vf *)(panel + k * NB + v * VL);
    for (int r = 0; r < MR; r++)
      for (int v = 0; v < NV; v++) sum[r][v] += a[r][k] * b[v];
  }
  for (int r = 0; r < MR; r++)
    for (int v = 0; v < NV; v++) acc[r][v] = sum[r][v];
}

/* Panels of NB: keys as [K / NB][D][NB], values as [E / NB][K][NB], padded with zeros. */
static void pack(const Shape &s, const float *k, const float *v, float *kp, float *vp) {
  for (int64_t j0 = 0; j0 < s.K; j0 += NB)
    for (int64_t d = 0; d < s.D; d++)
      for (int64_t j = 0; j < NB; j++) kp[j0 * s.D + d * NB + j] = j0 + j < s.K ? k[(j0 + j) * s.D + d] : 0;
  for (int64_t e0 = 0; e0 < s.E; e0 += NB)
    for (int64_t j = 0; j < s.K; j++)
      for (int64_t e = 0; e < NB; e++) vp[e0 * s.K + j * NB + e] = e0 + e < s.E ? v[j * s.E + e0 + e] : 0;
}

/* Scores of MR rows against keys [first, first + n), n a multiple of NB; missing keys score -inf. */
static void block_scores(const Shape &s, const float *const *q, const float *kp, int64_t first, int64_t n, float *scores) {
  for (int64_t j = 0; j < n; j += NB) {
    vf acc[MR][NV] = {};
    tile(q, kp + (first + j) * s.D, s.D, acc);
    for (int r = 0; r < MR; r++)
      for (int v = 0; v < NV; v++) {
        vf t = acc[r][v] * s.scale;
        for (int64_t k = s.K - first - j - v * VL; k < VL; k++)
          if (k >= 0) t[k] = -INFINITY;
        *(vf *)(scores + r * n + j + v * VL) = t;
      }
  }
}

static float block_max(const float *x, int64_t n) {
  vf a = vf{} - INFINITY, b = a;
  for (int64_t i = 0; i < n; i += 2 * VL) {
    const vf s = *(const vf *)(x + i), t = *(const vf *)(x + i + VL);
    a = s > a ? s : a;
    b = t > b ? t : b;
  }
  return fold_max(a > b ? a : b);
}

/* x = e^(x - max); returns their sum */
static float block_exp(float *x, int64_t n, float max) {
  vf a = {}, b = {};
  for (int64_t i = 0; i < n; i += 2 * VL) {
    a += *(vf *)(x + i) = vexp(*(const vf *)(x + i) - max);
    b += *(vf *)(x + i + VL) = vexp(*(const vf *)(x + i + VL) - max);
  }
  return fold_sum(a + b);
}

/* MR rows of y; q are their addresses, rows of them are stored. */
static void rows_of(const Shape &s, const float *const *q, const float *kp, const float *vp, float *scores, float *y,
                    int64_t rows) {
  const int64_t n = (s.K + NB - 1) / NB * NB;
  float scale[MR];
  const float *p[MR];
  block_scores(s, q, kp, 0, n, scores);
  for (int r = 0; r < MR; r++) {
    p[r] = scores + r * n;
    scale[r] = 1.0f / block_exp(scores + r * n, n, block_max(scores + r * n, n));
  }
  for (int64_t e = 0; e < s.E; e += NB) {
    vf acc[MR][NV] = {};
    tile(p, vp + e * s.K, s.K, acc);
    for (int64_t r = 0; r < rows && r < MR; r++)
      for (int64_t c = 0; c < NB && e + c < s.E; c++) y[r * s.E + e + c] = acc[r][c / VL][c % VL] * scale[r];
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const Shape s = ws->n_in == 3 ? shape_of(in, out[0]) : Shape{};
  if (!s.heads || !s.K) return 1;
  const int64_t KP = (s.K + NB - 1) / NB * NB, EP = (s.E + NB - 1) / NB * NB;
  float *kp = (float *)aligned_alloc(64, sizeof(float) * (size_t)(KP * s.D + s.K * EP + MR * KP + 16) / 64 * 64 + 64);
  if (!kp) return 2;
  float *vp = kp + KP * s.D, *scores = vp + s.K * EP;
  for (int64_t h = 0; h < s.heads; h++) {
    const float *q = (const float *)in[0].data + h * s.Q * s.D;
    pack(s, (const float *)in[1].data + h * s.K * s.D, (const float *)in[2].data + h * s.K * s.E, kp, vp);
    for (int64_t r = 0; r < s.Q; r += MR) {
      const float *rows[MR];
      for (int k = 0; k < MR; k++) rows[k] = q + (r + k < s.Q ? r + k : s.Q - 1) * s.D;
      rows_of(s, rows, kp, vp, scores, (float *)out[0].data + (h * s.Q + r) * s.E, s.Q - r);
    }
  }
  free(kp);
  return 0;
}
