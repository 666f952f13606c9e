// expect: TIMEOUT
// task: row_softmax
// Never returns.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  for (volatile long i = in[0].ndim + out[0].ndim;; i++) {}
}
