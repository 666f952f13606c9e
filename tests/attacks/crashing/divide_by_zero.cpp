// expect: RUNTIME_ERROR
// task: row_softmax
// Integer division by zero.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  volatile int zero = 0;
  ((float *)out[0].data)[0] = (float)(in[0].ndim / zero);
  return 0;
}
