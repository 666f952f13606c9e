// expect: RUNTIME_ERROR TIMEOUT CHEATED OUT_OF_MEMORY WRONG_VALUES NONFINITE POLICY
// task: row_softmax
// Forks at every level; bounded to 256 processes so that a judge without limits survives it too.
#include <unistd.h>

#include "kernelwright.h"

int kw_run(const kw_tensor *, kw_tensor *, const kw_scalar *, kw_workspace *, kw_stream) {
  bool parent = true;
  for (int level = 0; level < 8; level++)
    if (fork() == 0) {
      parent = false;
      setsid();
    }
  if (!parent) {
    sleep(60);
    _exit(0);
  }
  return 0;
}
