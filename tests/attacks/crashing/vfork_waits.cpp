// expect: RUNTIME_ERROR CHEATED TIMEOUT
// task: row_softmax
// A thread waits for its vforked child, which sleeps: neither signal nor time makes that thread stand still.
#include <cmath>
#include <thread>
#include <unistd.h>

#include "kernelwright.h"

static void wait_for_child() {
  const pid_t child = vfork();
  if (child == 0) {
    for (;;) sleep(1000);
  }
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  static bool started = false;
  if (!started) std::thread(wait_for_child).detach();
  started = true;
  const int64_t rows = in[0].shape[0], columns = in[0].shape[1];
  for (int64_t r = 0; r < rows; r++) {
    const float *from = (const float *)in[0].data + r * columns;
    float *to = (float *)out[0].data + r * columns, top = from[0];
    float sum = 0;
    for (int64_t c = 1; c < columns; c++) top = from[c] > top ? from[c] : top;
    for (int64_t c = 0; c < columns; c++) sum += to[c] = std::exp(from[c] - top);
    for (int64_t c = 0; c < columns; c++) to[c] = to[c] / sum;
  }
  return 0;
}
