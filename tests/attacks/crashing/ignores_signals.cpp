// expect: TIMEOUT
// task: row_softmax
// Ignores every signal that can be ignored, and loops.
#include <csignal>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  for (int s = 1; s < 64; s++) signal(s, SIG_IGN);
  for (volatile long i = in[0].ndim + out[0].ndim;; i++) {}
}
