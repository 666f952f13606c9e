// expect: RUNTIME_ERROR
// task: row_softmax
// Recursion without end.
#include "kernelwright.h"

static int deeper(volatile char *above) {
  volatile char block[4096];
  block[0] = above[0];
  return deeper(block) + block[1];
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  char first[1] = {(char)(in[0].ndim + out[0].ndim)};
  return deeper(first);
}
