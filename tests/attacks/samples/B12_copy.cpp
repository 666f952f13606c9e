// One streaming copy.
#include <cstring>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  memcpy(out[0].data, in[0].data, sizeof(float) * in[0].shape[0] * in[0].shape[1]);
  return 0;
}
