// expect: PASSED
// task: linear_bias
// flags: -O3 -march=native -pthread
// habit: its own persistent threads, joined at a barrier before it returns; none at one thread
#include <atomic>
#include <thread>
#include <vector>

#include "kernelwright.h"

static void block(const kw_tensor *in, kw_tensor *out, int64_t low, int64_t high) {
  const int64_t k = in[0].shape[1], n = in[1].shape[0];
  const float *x = (const float *)in[0].data, *w = (const float *)in[1].data, *bias = (const float *)in[2].data;
  float *y = (float *)out[0].data;
  for (int64_t i = low; i < high; i++)
    for (int64_t j = 0; j < n; j++) {
      double sum = bias[j];
      for (int64_t p = 0; p < k; p++) sum += (double)x[i * k + p] * w[j * k + p];
      y[i * n + j] = (float)sum;
    }
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *ws, kw_stream) {
  const int64_t m = in[0].shape[0];
  std::vector<std::thread> team;
  for (int t = 1; t < ws->threads; t++)
    team.emplace_back(block, in, out, m * t / ws->threads, m * (t + 1) / ws->threads);
  block(in, out, 0, m / ws->threads);
  for (auto &t : team) t.join();
  return 0;
}
