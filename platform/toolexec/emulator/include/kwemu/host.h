/* The part of the runtime API that host code of a kw_run uses. Memory of host and device is one; a stream runs at once. */
#pragma once
#include "launch.h"
#include "math.h"

extern "C" {
KWEMU_HIDDEN void kwemu_allocated(void*, size_t, const char* name, int written);
KWEMU_HIDDEN void kwemu_freed(void*);
KWEMU_HIDDEN void kwemu_written(void*, size_t);
KWEMU_HIDDEN void kwemu_allow_shared(const char* kernel, size_t bytes);
KWEMU_HIDDEN int kwemu_failed(void);
}
enum cudaError_t { cudaSuccess = 0, cudaErrorInvalidValue = 1, cudaErrorMemoryAllocation = 2, cudaErrorInvalidDeviceFunction = 98, cudaErrorLaunchFailure = 719 };
typedef cudaError_t cudaError;
enum cudaMemcpyKind { cudaMemcpyHostToHost, cudaMemcpyHostToDevice, cudaMemcpyDeviceToHost, cudaMemcpyDeviceToDevice, cudaMemcpyDefault };
enum cudaFuncAttribute { cudaFuncAttributeMaxDynamicSharedMemorySize = 8, cudaFuncAttributePreferredSharedMemoryCarveout = 9 };
enum cudaFuncCache { cudaFuncCachePreferNone, cudaFuncCachePreferShared, cudaFuncCachePreferL1, cudaFuncCachePreferEqual };
enum cudaDeviceAttr { cudaDevAttrMultiProcessorCount = 16, cudaDevAttrMaxSharedMemoryPerBlockOptin = 97, cudaDevAttrMaxThreadsPerBlock = 1 };
typedef struct CUevent_st* cudaEvent_t;
struct cudaDeviceProp {
  char name[256];
  size_t sharedMemPerBlock, sharedMemPerBlockOptin;
  int warpSize, maxThreadsPerBlock, major, minor, multiProcessorCount;
};

inline cudaError_t cudaGetLastError() { return kwemu_failed() ? cudaErrorLaunchFailure : cudaSuccess; }
inline cudaError_t cudaPeekAtLastError() { return cudaGetLastError(); }
inline const char* cudaGetErrorString(cudaError_t e) { return e ? "unspecified launch failure" : "no error"; }
inline const char* cudaGetErrorName(cudaError_t e) { return e ? "cudaErrorLaunchFailure" : "cudaSuccess"; }
template <class T>
cudaError_t cudaMalloc(T** p, size_t bytes) {
  *p = static_cast<T*>(aligned_alloc(256, (bytes + 512) & ~size_t(255)));
  if (!*p) return cudaErrorMemoryAllocation;
  std::memset(static_cast<void*>(*p), 0xcb, bytes);
  kwemu_allocated(*p, bytes, "memory of cudaMalloc", 0);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMallocAsync(T** p, size_t bytes, cudaStream_t) { return cudaMalloc(p, bytes); }
inline cudaError_t cudaFree(void* p) {
  if (p) kwemu_freed(p);
  free(p);
  return cudaSuccess;
}
inline cudaError_t cudaFreeAsync(void* p, cudaStream_t) { return cudaFree(p); }
inline cudaError_t cudaMemcpy(void* to, const void* from, size_t n, cudaMemcpyKind) {
  std::memmove(to, from, n);
  kwemu_written(to, n);
  return cudaGetLastError();
}
inline cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t n, cudaMemcpyKind k, cudaStream_t = nullptr) { return cudaMemcpy(to, from, n, k); }
inline cudaError_t cudaMemset(void* to, int byte, size_t n) {
  std::memset(to, byte, n);
  kwemu_written(to, n);
  return cudaGetLastError();
}
inline cudaError_t cudaMemsetAsync(void* to, int byte, size_t n, cudaStream_t = nullptr) { return cudaMemset(to, byte, n); }
template <class T>
cudaError_t cudaMemcpyToSymbol(T& symbol, const void* from, size_t n, size_t offset = 0, cudaMemcpyKind = cudaMemcpyHostToDevice) {
  std::memcpy(const_cast<char*>(reinterpret_cast<const char*>(&symbol)) + offset, from, n);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaMemcpyToSymbolAsync(T& s, const void* from, size_t n, size_t offset, cudaMemcpyKind k, cudaStream_t) { return cudaMemcpyToSymbol(s, from, n, offset, k); }
template <class T>
cudaError_t cudaMemcpyFromSymbol(void* to, const T& symbol, size_t n, size_t offset = 0, cudaMemcpyKind = cudaMemcpyDeviceToHost) {
  std::memcpy(to, reinterpret_cast<const char*>(&symbol) + offset, n);
  return cudaSuccess;
}
template <class T>
cudaError_t cudaGetSymbolAddress(void** p, T& symbol) {
  *p = const_cast<void*>(static_cast<const void*>(&symbol));
  return cudaSuccess;
}
inline cudaError_t cudaDeviceSynchronize() { return cudaGetLastError(); }
inline cudaError_t cudaStreamSynchronize(cudaStream_t) { return cudaGetLastError(); }
/* cudaFuncSetAttribute, told by translate.py which kernel it is for. */
namespace kwemu {
template <class F>
cudaError_t function_attribute(const char* name, F, int attribute, int value) {
  if (attribute == cudaFuncAttributeMaxDynamicSharedMemorySize) {
    if (value < 0 || value > 227 << 10) return cudaErrorInvalidValue;
    kwemu_allow_shared(name, size_t(value));
  }
  return cudaSuccess;
}
}  // namespace kwemu
template <class F>
cudaError_t cudaFuncSetCacheConfig(F, cudaFuncCache) { return cudaSuccess; }
template <class F>
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* n, F, int, size_t) { return *n = 1, cudaSuccess; }
inline cudaError_t cudaGetDevice(int* d) { return *d = 0, cudaSuccess; }
inline cudaError_t cudaSetDevice(int) { return cudaSuccess; }
inline cudaError_t cudaDeviceGetAttribute(int* v, cudaDeviceAttr a, int) {
  *v = a == cudaDevAttrMultiProcessorCount ? 4 : a == cudaDevAttrMaxThreadsPerBlock ? 1024 : 227 << 10;
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int) {
  *p = cudaDeviceProp{"emulated", 48 << 10, 227 << 10, 32, 1024, 8, 0, 4};
  return cudaSuccess;
}
inline cudaError_t cudaGetDeviceCount(int* n) { return *n = 1, cudaSuccess; }
inline cudaError_t cudaStreamCreate(cudaStream_t* s) { return *s = nullptr, cudaSuccess; }
inline cudaError_t cudaStreamCreateWithFlags(cudaStream_t* s, unsigned) { return cudaStreamCreate(s); }
inline cudaError_t cudaStreamDestroy(cudaStream_t) { return cudaSuccess; }
inline cudaError_t cudaStreamWaitEvent(cudaStream_t, cudaEvent_t, unsigned = 0) { return cudaSuccess; }
inline cudaError_t cudaEventCreate(cudaEvent_t* e) { return *e = nullptr, cudaSuccess; }
inline cudaError_t cudaEventCreateWithFlags(cudaEvent_t* e, unsigned) { return cudaEventCreate(e); }
inline cudaError_t cudaEventRecord(cudaEvent_t, cudaStream_t = nullptr) { return cudaGetLastError(); }
inline cudaError_t cudaEventSynchronize(cudaEvent_t) { return cudaGetLastError(); }
inline cudaError_t cudaEventDestroy(cudaEvent_t) { return cudaSuccess; }
inline cudaError_t cudaMemcpy2D(void* to, size_t to_pitch, const void* from, size_t from_pitch, size_t width, size_t height, cudaMemcpyKind k) {
  for (size_t i = 0; i < height; i++) cudaMemcpy(static_cast<char*>(to) + i * to_pitch, static_cast<const char*>(from) + i * from_pitch, width, k);
  return cudaGetLastError();
}
inline cudaError_t cudaMemcpy2DAsync(void* to, size_t tp, const void* from, size_t fp, size_t w, size_t h, cudaMemcpyKind k, cudaStream_t = nullptr) { return cudaMemcpy2D(to, tp, from, fp, w, h, k); }
template <class F>
cudaError_t cudaOccupancyMaxPotentialBlockSize(int* blocks, int* threads, F, size_t = 0, int limit = 0) { return *blocks = 4, *threads = limit ? limit : 256, cudaSuccess; }

/* Launches with attributes: a cooperative one is, of the others none changes what a kernel computes. */
enum cudaLaunchAttributeID { cudaLaunchAttributeIgnore, cudaLaunchAttributeCooperative = 2, cudaLaunchAttributeProgrammaticStreamSerialization = 6, cudaLaunchAttributePriority = 8 };
union cudaLaunchAttributeValue { int cooperative, programmaticStreamSerializationAllowed, priority; };
struct cudaLaunchAttribute {
  cudaLaunchAttributeID id;
  cudaLaunchAttributeValue val;
};
struct cudaLaunchConfig_t {
  dim3 kwemu_gridDim, kwemu_blockDim;  // host_code.py writes them so: the other names are a thread's
  size_t dynamicSmemBytes;
  cudaStream_t stream;
  cudaLaunchAttribute* attrs;
  unsigned numAttrs;
};
template <class... Params, class... Args>
cudaError_t cudaLaunchKernelEx(const cudaLaunchConfig_t* c, void (*kernel)(Params...), Args&&... args) {
  bool cooperative = false;
  for (unsigned i = 0; i < c->numAttrs; i++) cooperative |= c->attrs[i].id == cudaLaunchAttributeCooperative && c->attrs[i].val.cooperative;
  kwemu::Config config{c->kwemu_gridDim, c->kwemu_blockDim, c->dynamicSmemBytes, cooperative, kwemu::Site{}, "", true};
  kwemu::launch(config, [kernel](Params... p) KWEMU_UNSEEN { kernel(p...); }, Params(args)...);
  return cudaGetLastError();
}
inline void cudaGridDependencySynchronize() {}
inline void cudaTriggerProgrammaticLaunchCompletion() {}
#define KWEMU_LAUNCHER(name, cooperative)                                                                                             \
  template <class... Params>                                                                                                          \
  cudaError_t name(void (*kernel)(Params...), dim3 grid, dim3 block, void** args, size_t shared = 0, cudaStream_t = nullptr, KWEMU_HERE) { \
    kwemu::Config config{grid, block, shared, cooperative, kwemu::Site{file, line}, "", true};                                        \
    kwemu::launch_packed(config, kernel, args, std::index_sequence_for<Params...>());                                                 \
    return cudaGetLastError();                                                                                                        \
  }                                                                                                                                   \
  inline cudaError_t name(const void* kernel, dim3 grid, dim3 block, void** args, size_t shared = 0, cudaStream_t = nullptr, KWEMU_HERE) { \
    auto known = kwemu::launchers().find(kernel);                                                                                     \
    if (known == kwemu::launchers().end()) return cudaErrorInvalidDeviceFunction;                                                     \
    known->second(kwemu::Config{grid, block, shared, cooperative, kwemu::Site{file, line}, "", true}, kernel, args);                  \
    return cudaGetLastError();                                                                                                        \
  }
KWEMU_LAUNCHER(cudaLaunchCooperativeKernel, true)
KWEMU_LAUNCHER(cudaLaunchKernel, false)
#undef KWEMU_LAUNCHER
