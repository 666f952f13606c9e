// expect: PASSED
// One row of the table and one of the places for every row of the result.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const int64_t *tokens = (const int64_t *)in[0].data;
  const float *table = (const float *)in[1].data, *places = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  const int64_t batch = in[0].shape[0], positions = in[0].shape[1], width = out[0].shape[2];
  for (int64_t b = 0; b < batch; b++)
    for (int64_t p = 0; p < positions; p++) {
      const float *row = table + tokens[b * positions + p] * width, *place = places + p * width;
      float *to = y + (b * positions + p) * width;
      for (int64_t w = 0; w < width; w++) to[w] = row[w] + place[w];
    }
  return 0;
}
