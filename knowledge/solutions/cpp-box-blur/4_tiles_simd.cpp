// g++ -O3 -march=native -shared -fPIC 4_tiles_simd.cpp -o tiles_simd.so
//
// Change: tiles of TILE_W x TILE_H pixels, both passes fused inside a tile and written in vectors. The buffer of
// row sums (TILE_H + KH - 1 rows of 1 KiB) now fits the first-level cache, whatever the image's width. Work: KH +
// KW * (TILE_H + KH - 1) / TILE_H = 6.19 a pixel for 3x3 and 32 rows.
#include "kernelwright.h"
#include <cstdlib>
#ifndef TILE_W
#define TILE_W 256
#endif
#ifndef TILE_H
#define TILE_H 32
#endif
#define VL 16
typedef float vf __attribute__((vector_size(4 * VL), aligned(4), may_alias));
#define AT(p) (*(vf *)(p))
#define CAT(p) (*(const vf *)(p))

struct Tile { int64_t w, h, x_stride, y_stride, KH, KW; float scale; };

static void blur_tile(const float *x, float *y, float *rows, const Tile &t) {
  for (int64_t r = 0; r < t.h + t.KH - 1; r++) {
    const float *s = x + r * t.x_stride;
    float *d = rows + r * TILE_W;
    int64_t c = 0;
    for (; c + VL <= t.w; c += VL) {
      vf sum = CAT(s + c);
      for (int64_t j = 1; j < t.KW; j++) sum += CAT(s + c + j);
      AT(d + c) = sum;
    }
    for (; c < t.w; c++) {
      float sum = s[c];
      for (int64_t j = 1; j < t.KW; j++) sum += s[c + j];
      d[c] = sum;
    }
  }
  for (int64_t r = 0; r < t.h; r++) {
    const float *s = rows + r * TILE_W;
    float *d = y + r * t.y_stride;
    int64_t c = 0;
    for (; c + VL <= t.w; c += VL) {
      vf sum = CAT(s + c);
      for (int64_t i = 1; i < t.KH; i++) sum += CAT(s + i * TILE_W + c);
      AT(d + c) = sum * t.scale;
    }
    for (; c < t.w; c++) {
      float sum = s[c];
      for (int64_t i = 1; i < t.KH; i++) sum += s[i * TILE_W + c];
      d[c] = sum * t.scale;
    }
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int d = in[0].ndim, e = out[0].ndim;
  if (d < 2 || e < 2 || in[0].dtype != KW_FLOAT32 || out[0].dtype != KW_FLOAT32) return 1;
  const int64_t H = in[0].shape[d - 2], W = in[0].shape[d - 1], OH = out[0].shape[e - 2], OW = out[0].shape[e - 1];
  const int64_t KH = H - OH + 1, KW = W - OW + 1;
  if (KH < 1 || KW < 1) return 2;
  int64_t planes = 1;
  for (int i = 0; i < d - 2; i++) planes *= in[0].shape[i];
  const float *x = (const float *)in[0].data;
  float *y = (float *)out[0].data, scale = 1.0f / (float)(KH * KW);
  float *rows = (float *)aligned_alloc(64, sizeof(float) * (size_t)((TILE_H + KH) * TILE_W));
  if (!rows) return 3;
  for (int64_t p = 0; p < planes; p++)
    for (int64_t r = 0; r < OH; r += TILE_H)
      for (int64_t c = 0; c < OW; c += TILE_W) {
        const Tile t = {OW - c < TILE_W ? OW - c : TILE_W, OH - r < TILE_H ? OH - r : TILE_H, W, OW, KH, KW, scale};
        blur_tile(x + (p * H + r) * W + c, y + (p * OH + r) * OW + c, rows, t);
      }
  free(rows);
  return 0;
}
