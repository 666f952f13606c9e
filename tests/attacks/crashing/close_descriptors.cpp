// expect: RUNTIME_ERROR CHEATED
// task: row_softmax
// Closes every descriptor in kw_prepare.
#include <unistd.h>

#include "kernelwright.h"

KW_EXPORT int kw_prepare(const kw_tensor *, const kw_scalar *, kw_workspace *) {
  for (int fd = 0; fd < 256; fd++) close(fd);
  return 0;
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) { return in[0].ndim + out[0].ndim < 0; }
