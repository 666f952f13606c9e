// expect: PASSED
// task: byte_table
// flags: -O3
// habit: integer lookup in a buffer of the module
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  const uint8_t *x = (const uint8_t *)in[0].data, *table = (const uint8_t *)in[1].data;
  uint8_t *y = (uint8_t *)out[0].data;
  for (int64_t i = 0; i < in[0].shape[0]; i++) y[i] = table[x[i]];
  return 0;
}
