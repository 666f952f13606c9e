// Splits the rows over two cores of the machine: a persistent partner waits for its half.
#include <atomic>
#include <cmath>
#include <sched.h>
#include <thread>
#include <unistd.h>

#include "kernelwright.h"

namespace {
std::atomic<int> wanted{0}, done{0};
const float *source;
float *target;
int64_t rows, columns;

void some_rows(int64_t first, int64_t last) {
  for (int64_t r = first; r < last; r++) {
    const float *from = source + r * columns;
    float *to = target + r * columns, top = from[0];
    double sum = 0;
    for (int64_t c = 1; c < columns; c++) top = from[c] > top ? from[c] : top;
    for (int64_t c = 0; c < columns; c++) sum += to[c] = std::exp(from[c] - top);
    for (int64_t c = 0; c < columns; c++) to[c] = (float)(to[c] / sum);
  }
}

void settle(int core) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(core, &one);
  sched_setaffinity(0, sizeof one, &one);
}

void partner() {
  settle(0);
  for (int turn = 1;; turn++) {
    for (int idle = 0; wanted < turn; idle++) {
      if (idle < 2000) sched_yield();
      else usleep(20);
    }
    some_rows(rows / 2, rows);
    done = turn;
  }
}
}  // namespace

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  if (!source) std::thread(partner).detach();
  source = (const float *)in[0].data, target = (float *)out[0].data;
  rows = in[0].shape[0], columns = in[0].shape[1];
  settle(1);
  const int turn = wanted + 1;
  wanted = turn;
  some_rows(0, rows / 2);
  while (done < turn) {}
  return 0;
}
