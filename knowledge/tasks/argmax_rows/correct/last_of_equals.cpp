// expect: PASSED
// One pass. Of equal elements it names the last: an index is right that selects an element equal to the reference's.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *scores = (const float *)in[0].data;
  int64_t *places = (int64_t *)out[0].data;
  const int64_t rows = in[0].shape[0], classes = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *row = scores + r * classes;
    int64_t place = 0;
    for (int64_t c = 1; c < classes; c++)
      if (row[c] >= row[place]) place = c;
    places[r] = place;
  }
  return 0;
}
