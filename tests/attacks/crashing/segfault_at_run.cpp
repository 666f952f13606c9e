// expect: RUNTIME_ERROR
// task: row_softmax
// Writes through a wild pointer.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  *(volatile float *)((char *)out[0].data + (1L << 44)) = in[0].ndim;
  return 0;
}
