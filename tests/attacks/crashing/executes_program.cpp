// expect: RUNTIME_ERROR TIMEOUT CHEATED
// task: row_softmax
// Becomes another program.
#include <unistd.h>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  execl("/bin/sleep", "sleep", "600", (char *)nullptr);
  return in[0].ndim + out[0].ndim < 0;
}
