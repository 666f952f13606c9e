// expect: WRONG_VALUES NONFINITE RUNTIME_ERROR CHEATED TIMEOUT POLICY
// task: row_softmax
// needs: sandbox
// Attaches to its parent and stops it; a timer lets go of it again.
#include <sys/ptrace.h>
#include <unistd.h>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  alarm(5);
  if (ptrace(PTRACE_ATTACH, getppid(), nullptr, nullptr) == 0) sleep(30);
  return in[0].ndim + out[0].ndim < 0;
}
