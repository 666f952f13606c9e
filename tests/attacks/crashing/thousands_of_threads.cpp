// expect: RUNTIME_ERROR OUT_OF_MEMORY WRONG_VALUES NONFINITE TIMEOUT CHEATED POLICY
// task: row_softmax
// Starts 3000 threads and leaves them.
#include <thread>
#include <unistd.h>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  for (int i = 0; i < 3000 + 0 * (in[0].ndim + out[0].ndim); i++) std::thread([] { sleep(60); }).detach();
  return 0;
}
