// g++ -O3 -march=native -shared -fPIC 2_merged_table.cpp -o merged_table.so
//
// Change: brightness and clamp are merged into the table, made anew a call (256 entries); the division by nine of
// a sum up to 2295 is an exact multiplication, (sum * 7282) >> 16; column sums of three rows are made once for
// three pixels.
#include "kernelwright.h"
#include <cstdlib>

/* image [H + 2, W + 2] and table [256], both uint8; brightness from -DBRIGHTNESS=n or, without it, the only scalar. */
struct Args { const uint8_t *image, *table; uint8_t *out; int64_t H, W, brightness; bool ok; };

static Args args_of(const kw_tensor *in, const kw_tensor *out, const kw_scalar *scalars, const kw_workspace *ws) {
  Args a = {};
  if (ws->n_in != 2 || in[0].ndim != 2 || in[0].dtype != KW_UINT8 || in[1].ndim != 1 || in[1].dtype != KW_UINT8) return a;
  a.image = (const uint8_t *)in[0].data, a.table = (const uint8_t *)in[1].data, a.out = (uint8_t *)out[0].data;
  a.H = in[0].shape[0] - 2, a.W = in[0].shape[1] - 2;
#ifdef BRIGHTNESS
  (void)scalars, a.brightness = BRIGHTNESS, a.ok = true;
#else
  if (ws->n_scalars == 1) a.brightness = scalars[0].i, a.ok = true;
#endif
  a.ok = a.ok && in[1].shape[0] == 256 && a.H >= 1 && a.W >= 1 && out[0].dtype == KW_UINT8;
  a.ok = a.ok && out[0].shape[0] == a.H && out[0].shape[1] == a.W;
  return a;
}

/* Brightening and clamping only depend on the mean, so they are done once for each of its 256 values. */
static void merge(const Args &a, uint8_t *table) {
  for (int64_t m = 0; m < 256; m++) {
    const int64_t bright = m + a.brightness;
    table[m] = a.table[bright < 0 ? 0 : bright > 255 ? 255 : bright];
  }
}

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *ws, kw_stream) {
  const Args a = args_of(in, out, scalars, ws);
  if (!a.ok) return 1;
  uint8_t table[256];
  merge(a, table);
  const int64_t P = a.W + 2;
  uint32_t *column = (uint32_t *)malloc(sizeof(uint32_t) * (size_t)P);
  if (!column) return 2;
  for (int64_t r = 0; r < a.H; r++) {
    const uint8_t *x = a.image + r * P;
    for (int64_t c = 0; c < P; c++) column[c] = (uint32_t)x[c] + x[c + P] + x[c + 2 * P];
    for (int64_t c = 0; c < a.W; c++) a.out[r * a.W + c] = table[((column[c] + column[c + 1] + column[c + 2]) * 7282) >> 16];
  }
  free(column);
  return 0;
}
