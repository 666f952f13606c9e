// What a launch cannot do it says: the reason on stderr, a code other than 0 to the caller.
#pragma once
#include <cstdint>
#include <cstdio>
#include <cuda_runtime.h>
#include "kernelwright.h"
#define NEEDS(condition, why) \
  if (!(condition)) return fprintf(stderr, "refused: %s (%s does not hold)\n", why, #condition), 1

inline bool aligned(const void* p, unsigned bytes) { return reinterpret_cast<std::uintptr_t>(p) % bytes == 0; }

inline int launched() {
  cudaError_t error = cudaGetLastError();
  if (error != cudaSuccess) fprintf(stderr, "launch failed: %s\n", cudaGetErrorString(error));
  return error == cudaSuccess ? 0 : 2;
}
