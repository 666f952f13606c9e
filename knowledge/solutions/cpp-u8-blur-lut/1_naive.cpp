// g++ -O3 -march=native -shared -fPIC 1_naive.cpp -o naive.so
//
// uint8 pipeline: floor of the mean of 3x3 pixels, plus brightness, clamped to 0..255, through a table. Pixel by
// pixel, nine taps and a division, but fused: no intermediate image.
#include "kernelwright.h"

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

extern "C" int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *ws, kw_stream) {
  const Args a = args_of(in, out, scalars, ws);
  if (!a.ok) return 1;
  for (int64_t r = 0; r < a.H; r++)
    for (int64_t c = 0; c < a.W; c++) {
      int64_t sum = 0;
      for (int64_t i = 0; i < 3; i++)
        for (int64_t j = 0; j < 3; j++) sum += a.image[(r + i) * (a.W + 2) + c + j];
      const int64_t bright = sum / 9 + a.brightness;
      a.out[r * a.W + c] = a.table[bright < 0 ? 0 : bright > 255 ? 255 : bright];
    }
  return 0;
}
