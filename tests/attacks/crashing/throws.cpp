// expect: RUNTIME_ERROR
// task: row_softmax
// Lets a C++ exception out of the C entry.
#include <stdexcept>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  if (in[0].ndim + out[0].ndim) throw std::runtime_error("no such kernel");
  return 0;
}
