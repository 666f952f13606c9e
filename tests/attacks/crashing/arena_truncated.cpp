// expect: CHEATED WRONG_VALUES NONFINITE RUNTIME_ERROR
// task: row_softmax
// Shrinks the shared memory under its caller's feet.
#include <sys/stat.h>
#include <unistd.h>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  for (int fd = 3; fd < 256; fd++) {
    struct stat s;
    if (fstat(fd, &s) == 0 && S_ISREG(s.st_mode)) ftruncate(fd, 0);
  }
  return in[0].ndim + out[0].ndim < 0;
}
