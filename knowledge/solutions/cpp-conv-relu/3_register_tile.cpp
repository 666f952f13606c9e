// g++ -O3 -march=native -shared -fPIC 3_register_tile.cpp -o register_tile.so
//
// Change: a tile of OCB output channels x PV vectors of pixels lives in registers through the whole sum over input
// channels and taps. A tap loads PV vectors of pixels and OCB weights for OCB * PV multiply-adds: 11 loads for 24
// with 8 x 3, so the FMA units set the pace. The padded image is taken as one long row, so tiles ignore where rows
// end; kw_prepare puts the weights in the order in which they are read.
#include "kernelwright.h"
#include <cstdlib>
#include <cstring>
#ifndef RELU
#define RELU 1
#endif
#if defined(__AVX512F__)
#define VL 16
#else
#define VL 8
#endif
#ifndef OCB
#define OCB (VL == 16 ? 8 : 4) /* output channels of a tile */
#endif
#ifndef PV
#define PV (VL == 16 ? 3 : 2) /* vectors of pixels of a tile */
#endif
#define TILE (PV * VL)
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));

/* Everything is read off the shapes: stride and dilation are 1, padding is what makes the output as large as it is. */
struct Shape {
  int64_t B, IC, H, W, OC, KH, KW, OH, OW, ph, pw;
  bool ok;
};

static Shape shape_of(const kw_tensor *in, const kw_tensor *out, const kw_workspace *ws) {
  Shape s = {};
  const kw_tensor &x = in[0], &w = in[1];
  if (ws->n_params < 1 || ws->n_params > 2 || ws->n_in != 1 + ws->n_params) return s;
  if (x.ndim != 4 || w.ndim != 4 || x.dtype != KW_FLOAT32 || w.shape[1] != x.shape[1]) return s;
  s.B = x.shape[0], s.IC = x.shape[1], s.H = x.shape[2], s.W = x.shape[3];
  s.OC = w.shape[0], s.KH = w.shape[2], s.KW = w.shape[3];
  s.OH = out->shape[2], s.OW = out->shape[3];
  s.ph = (s.OH + s.KH - 1 - s.H) / 2, s.pw = (s.OW + s.KW - 1 - s.W) / 2;
  s.ok = s.ph >= 0 && s.pw >= 0 && s.OH == s.H + 2 * s.ph - s.KH + 1 && s.OW == s.W + 2 * s.pw - s.KW + 1;
  return s;
}

/* The image with its border of zeros; rows of s.W + 2 * s.pw floats. */
static void pad(const Shape &s, const float *x, float *padded) {
  const int64_t PW = s.W + 2 * s.pw, PH = s.H + 2 * s.ph;
  for (int64_t c = 0; c < s.IC; c++, x += s.H * s.W, padded += PH * PW) {
    memset(padded, 0, sizeof(float) * (size_t)(s.ph * PW));
    for (int64_t r = 0; r < s.H; r++) {
      float *d = padded + (r + s.ph) * PW;
      for (int64_t k = 0; k < s.pw; k++) d[k] = d[s.pw + s.W + k] = 0;
      memcpy(d + s.pw, x + r * s.W, sizeof(float) * (size_t)s.W);
    }
    memset(padded + (s.ph + s.H) * PW, 0, sizeof(float) * (size_t)(s.ph * PW));
  }
}

/* Weights as [OC / OCB][IC][KH * KW][OCB], then biases, padded with zeros: the order in which tiles read them. */
extern "C" int kw_prepare(const kw_tensor *in, const kw_scalar *, kw_workspace *ws) {
  if (ws->n_params < 1 || ws->n_params > 2 || in[1].ndim != 4 || in[1].dtype != KW_FLOAT32) return 1;
  const int64_t OC = in[1].shape[0], taps = in[1].shape[1] * in[1].shape[2] * in[1].shape[3];
  const int64_t blocks = (OC + OCB - 1) / OCB;
  const float *w = (const float *)in[1].data, *bias = ws->n_params == 2 ? (const float *)in[2].data : nullptr;
  float *packed = (float *)aligned_alloc(64, (sizeof(float) * (size_t)(blocks * OCB * (taps + 1)) + 63) / 64 * 64);
  if (!packed) return 2;
  for (int64_t o = 0; o < blocks * OCB; o++) {
    float *d = packed + o / OCB * OCB * (taps + 1) + o % OCB;
    for (int64_t t = 0; t < taps; t++) d[t * OCB] = o < OC ? w[o * taps + t] : 0;
    d[taps * OCB] = o < OC && bias ? bias[o] : 0;
  }
  ws->state = packed;
  return 0;
}

/* acc[OCB][PV] += sum over IC, KH, KW of weight * pixels; x is the tile's first pixel in the padded image. */
static inline __attribute__((always_inline))
void tile(const Shape &s, const float *x, const float *w, int64_t KH, int64_t KW, vf (*acc)[PV]) {
  const int64_t PW = s.W + 2 * s.pw, plane = (s.H + 2 * s.ph) * PW;
  vf sum[OCB][PV];
  for (int o = 0; o < OCB; o++)
    for (int p = 0; p < PV; p++) sum[o][p] = acc[o][p];
  for (int64_t i = 0; i < s.IC; i++, x += plane)
    for (int64_t u = 0; u < KH; u++)
#pragma GCC unroll 4
      for (int64_t v = 0; v < KW; v++, w += OCB) {
        vf pixels[PV];
        for (int p = 0; p < PV; p++) pixels[p] = *(const vf *)(x + u * PW + v + p * VL);
        for (int o = 0; o < OCB; o++)
          for (int p = 0; p < PV; p++) sum[o][p] += w[o] * pixels[p];
      }
  for (int o = 0; o < OCB; o++)
    for (int p = 0; p < PV; p++) acc[o][p] = sum[o][p];
}

/* Rows of the padded image follow each other, so a tile may run over a row's end: the pw * 2 pixels between rows are
 * computed and thrown away here. y is the output plane, f the tile's first pixel counted in padded rows. */
static void store(const Shape &s, const vf *acc, float *y, int64_t f) {
  const int64_t pitch = s.W + 2 * s.pw;
  const float *sums = (const float *)acc;
  for (int64_t k = 0; k < TILE;) {
    const int64_t r = (f + k) / pitch, c = (f + k) % pitch;
    if (r >= s.OH) return;
    int64_t run = s.OW - c; /* valid pixels from here to the row's end */
    if (run > TILE - k) run = TILE - k;
    float *d = y + r * s.OW + c;
    int64_t j = 0;
    for (; j + VL <= run; j += VL) {
      const vf v = *(const vf *)(sums + k + j);
      *(vf *)(d + j) = RELU ? (v > 0.0f ? v : vf{}) : v;
    }
    for (; j < run; j++) d[j] = RELU && sums[k + j] < 0 ? 0 : sums[k + j];
    k += pitch - c;
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const Shape s = shape_of(in, out, ws);
  if (!s.ok || !ws->state) return 1;
  const int64_t PW = s.W + 2 * s.pw, PH = s.H + 2 * s.ph, taps = s.IC * s.KH * s.KW;
  float *padded = (float *)malloc(sizeof(float) * (size_t)(s.IC * PH * PW + s.KW + 2 * TILE));
  if (!padded) return 2;
  memset(padded + s.IC * PH * PW, 0, sizeof(float) * (size_t)(s.KW + 2 * TILE));
  for (int64_t b = 0; b < s.B; b++) {
    pad(s, (const float *)in[0].data + b * s.IC * s.H * s.W, padded);
    for (int64_t f = 0; f < s.OH * PW; f += TILE)
      for (int64_t o = 0; o < s.OC; o += OCB) {
        const float *w = (const float *)ws->state + o * (taps + 1);
        vf acc[OCB][PV];
        for (int k = 0; k < OCB; k++)
          for (int p = 0; p < PV; p++) acc[k][p] = vf{} + w[taps * OCB + k];
        if (s.KH == 3 && s.KW == 3) tile(s, padded + f, w, 3, 3, acc);
        else tile(s, padded + f, w, s.KH, s.KW, acc);
        for (int64_t k = 0; k < OCB && o + k < s.OC; k++)
          store(s, acc[k], (float *)out[0].data + (b * s.OC + o + k) * s.OH * s.OW, f);
      }
  }
  free(padded);
  return 0;
}
