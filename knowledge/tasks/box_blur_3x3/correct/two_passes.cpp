// expect: PASSED
// Rows first, then columns, each row's horizontal sums kept in a ring of three rows.
#include <vector>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const float *image = (const float *)in[0].data;
  float *blurred = (float *)out[0].data;
  const int64_t height = out[0].shape[0], width = out[0].shape[1], pitch = in[0].shape[1];
  std::vector<float> ring(3 * width);
  auto sums = [&](int64_t row) {
    const float *line = image + row * pitch;
    float *to = ring.data() + (row % 3) * width;
    for (int64_t x = 0; x < width; x++) to[x] = line[x] + line[x + 1] + line[x + 2];
  };
  sums(0);
  sums(1);
  for (int64_t y = 0; y < height; y++) {
    sums(y + 2);
    const float *a = ring.data(), *b = a + width, *c = b + width;
    float *to = blurred + y * width;
    for (int64_t x = 0; x < width; x++) to[x] = (a[x] + b[x] + c[x]) * (1.0f / 9.0f);
  }
  return 0;
}
