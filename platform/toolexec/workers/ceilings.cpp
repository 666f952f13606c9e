// How fast this machine moves bytes and multiplies. Compiled and run once per machine by workers/ceilings.py.
#include <chrono>
#include <cstdint>

#if defined(__AVX512F__)
typedef float lane __attribute__((vector_size(64), aligned(4)));
#elif defined(__AVX__)
typedef float lane __attribute__((vector_size(32), aligned(4)));
#else
typedef float lane __attribute__((vector_size(16), aligned(4)));
#endif
enum { WIDTH = sizeof(lane) / sizeof(float), CHAINS = 12 };

static double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// Seconds for `repeats` copies of n floats, split over threads.
extern "C" double copy_floats(float* dst, const float* src, int64_t n, int64_t repeats, int threads) {
  double start = now();
  for (int64_t r = 0; r < repeats; ++r) {
#pragma omp parallel for num_threads(threads) schedule(static)
    for (int64_t i = 0; i < n / WIDTH; ++i) ((lane*)dst)[i] = ((const lane*)src)[i];
    asm volatile("" ::: "memory");
  }
  return now() - start;
}

// Seconds for `repeats` sums over n floats.
extern "C" double read_floats(float* dst, const float* src, int64_t n, int64_t repeats, int threads) {
  double start = now();
  for (int64_t r = 0; r < repeats; ++r) {
#pragma omp parallel num_threads(threads)
    {
      lane sums[8] = {};
#pragma omp for schedule(static)
      for (int64_t i = 0; i < n / (8 * WIDTH); ++i)
        for (int k = 0; k < 8; ++k) sums[k] += ((const lane*)src)[8 * i + k];
      lane all = sums[0] + sums[1] + sums[2] + sums[3] + sums[4] + sums[5] + sums[6] + sums[7];
      if (all[0] == 12345.678f) dst[0] = all[0];
    }
    asm volatile("" ::: "memory");
  }
  return now() - start;
}

// Seconds for `steps` fused multiply-adds on every chain; flops = 2 * steps * CHAINS * WIDTH * threads.
extern "C" double multiply_add(int64_t steps, int threads, double* flops) {
  *flops = 2.0 * steps * CHAINS * WIDTH * threads;
  double start = now();
#pragma omp parallel num_threads(threads)
  {
    lane acc[CHAINS], scale, shift;
    for (int j = 0; j < WIDTH; ++j) scale[j] = 0.999f, shift[j] = 0.001f;
    for (int k = 0; k < CHAINS; ++k) acc[k] = shift;
    for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 12
      for (int k = 0; k < CHAINS; ++k) acc[k] = acc[k] * scale + shift;
    }
    for (int k = 0; k < CHAINS; ++k) asm volatile("" ::"m"(acc[k]));
  }
  return now() - start;
}
