// How fast this machine moves bytes and multiplies. Compiled and run once per machine by workers/ceilings.py.
#include <chrono>
#include <cstdint>
#if defined(__x86_64__)
#include <immintrin.h>
#endif
#if defined(__AMX_TILE__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

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

// The rates of narrow types: the best instruction the compiler was told the processor has. 2 operations a multiply-add, sums
// in 32 bits. Each returns seconds and sets *flops, 0 where there is no such instruction, or the system does not lend it.

template <class Step>
static double run(int64_t steps, int threads, double each, double* flops, Step step) {
  *flops = each * steps * threads;
  double start = now();
#pragma omp parallel num_threads(threads)
  step(steps);
  return now() - start;
}

#if defined(__AVX512BF16__)
static void dot_bf16(int64_t steps) {
  __m512 sums[CHAINS];
  const __m512bh a = (__m512bh)_mm512_set1_epi16(0x3f00), b = (__m512bh)_mm512_set1_epi16(0x3c00);
  for (int k = 0; k < CHAINS; ++k) sums[k] = _mm512_setzero_ps();
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    for (int k = 0; k < CHAINS; ++k) sums[k] = _mm512_dpbf16_ps(sums[k], a, b);
  }
  for (int k = 0; k < CHAINS; ++k) asm volatile("" ::"m"(sums[k]));
}
#endif

extern "C" double multiply_add_bf16(int64_t steps, int threads, double* flops) {
#if defined(__AVX512BF16__)
  return run(steps, threads, 2.0 * 32 * CHAINS, flops, dot_bf16);
#else
  return *flops = 0;
#endif
}

#if defined(__AVX512VNNI__)
static void dot_int8(int64_t steps) {
  __m512i sums[CHAINS];
  const __m512i a = _mm512_set1_epi8(3), b = _mm512_set1_epi8(1);
  for (int k = 0; k < CHAINS; ++k) sums[k] = _mm512_setzero_si512();
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    for (int k = 0; k < CHAINS; ++k) sums[k] = _mm512_dpbusd_epi32(sums[k], a, b);
  }
  for (int k = 0; k < CHAINS; ++k) asm volatile("" ::"m"(sums[k]));
}
#elif defined(__AVX2__)
static void dot_int8(int64_t steps) {
  __m256i sums[CHAINS];
  const __m256i b = _mm256_set1_epi8(1), ones = _mm256_set1_epi16(1);
  for (int k = 0; k < CHAINS; ++k) sums[k] = _mm256_setzero_si256();
  for (int64_t s = 0; s < steps; ++s) {
#pragma GCC unroll 12
    for (int k = 0; k < CHAINS; ++k)  // a sum is a factor too, or the compiler would multiply once
      sums[k] = _mm256_add_epi32(sums[k], _mm256_madd_epi16(_mm256_maddubs_epi16(sums[k], b), ones));
  }
  for (int k = 0; k < CHAINS; ++k) asm volatile("" ::"m"(sums[k]));
}
#endif

extern "C" double multiply_add_int8(int64_t steps, int threads, double* flops) {
#if defined(__AVX512VNNI__)
  return run(steps, threads, 2.0 * 64 * CHAINS, flops, dot_int8);
#elif defined(__AVX2__)
  return run(steps, threads, 2.0 * 32 * CHAINS, flops, dot_int8);
#else
  return *flops = 0;
#endif
}

#if defined(__AMX_TILE__) && defined(__linux__)
enum { REQUEST = 0x1023, TILE_DATA = 18 };  // arch_prctl(ARCH_REQ_XCOMP_PERM, XFEATURE_XTILEDATA)

struct alignas(64) Shape {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t columns[16] = {64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16};
};

template <bool bf16>
static void dot_tiles(int64_t steps) {
  Shape shape;
  asm volatile("" ::"r"(&shape) : "memory");  // gcc's intrinsic says that it reads a pointer's worth of it
  _tile_loadconfig(&shape);
  // statements: some compilers' intrinsics are macros around asm
#define KW_TILES(step) step(0, 4, 5); step(1, 4, 5); step(2, 4, 5); step(3, 4, 5)
#define KW_ZERO(tile, a, b) _tile_zero(tile)
  KW_TILES(KW_ZERO);
  _tile_zero(4);
  _tile_zero(5);
  for (int64_t s = 0; s < steps; ++s) {
    if (bf16) {
      KW_TILES(_tile_dpbf16ps);
    } else {
      KW_TILES(_tile_dpbssd);
    }
  }
  _tile_release();
}
#endif

extern "C" double multiply_add_tiles(int64_t steps, int threads, double* flops, int bf16) {
#if defined(__AMX_TILE__) && defined(__linux__)
  if (syscall(SYS_arch_prctl, REQUEST, TILE_DATA)) return *flops = 0;
  const double each = 2.0 * 4 * 16 * 16 * (bf16 ? 32 : 64);
  return bf16 ? run(steps, threads, each, flops, dot_tiles<true>) : run(steps, threads, each, flops, dot_tiles<false>);
#else
  return *flops = 0;
#endif
}
