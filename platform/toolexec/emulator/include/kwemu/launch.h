/* Launches and shared memory, as translate.py writes them. Owns how a kernel's arguments reach its threads. */
#pragma once
#define KWEMU_ENTRY extern "C" __attribute__((visibility("default")))
#include <map>
#include <tuple>
#include "machine.h"

typedef struct CUstream_st* cudaStream_t;

namespace kwemu {
template <class Call, class... Args>
struct Bound {
  Call* call;
  std::tuple<Args...> args;
  /* Each thread gets parameters of its own, as on a GPU; unpacking them is not the kernel's access. */
  KWEMU_BARE static void run(void* self) {
    Bound& b = *static_cast<Bound*>(self);
    std::apply([&b](const Args&... a) KWEMU_UNSEEN { (*b.call)(Args(a)...); }, b.args);
  }
};

inline Config configured(const char* name, const char* file, int line, dim3 grid, dim3 block, size_t shared = 0,
                         const void* = nullptr) {
  return Config{grid, block, shared, false, Site{file, line}, name, true};
}

template <class Call, class... Args>
void launch(const Config& config, Call call, Args... args) {
  Bound<Call, Args...> bound{&call, std::tuple<Args...>(args...)};
  kwemu_run(&config, &Bound<Call, Args...>::run, &bound);
}

template <class... Params, size_t... I>
void launch_packed(const Config& config, void (*kernel)(Params...), void** args, std::index_sequence<I...>) {
  launch(config, [kernel](Params... p) KWEMU_UNSEEN { kernel(p...); }, *static_cast<std::remove_reference_t<Params>*>(args[I])...);
}

/* A device variable between rooms that belong to nobody: what ../../device_variables.py makes of one. */
constexpr size_t ROOM = 128;
template <class T, size_t Align>
struct alignas(Align > 16 ? Align : 16) Apart {
  char before[ROOM];
  alignas(Align) T value;
  char after[ROOM];
};
struct Known {
  template <class T, size_t Align>
  KWEMU_BARE Known(Apart<T, Align>& v, const char* name) {
    kwemu_device_variable(&v.value, sizeof v.value, ROOM, name);
  }
};

template <class T, class Tag>
KWEMU_BARE T& shared(const char* name, Tag*, size_t align = 0) {
  static char tag;  // one address a declaration and instance
  return *static_cast<T*>(kwemu_shared_object(&tag, sizeof(T), align > alignof(T) ? align : alignof(T), name));
}
/* extern __shared__ outside a function: what its uses become, and an object for uses that translate.py leaves. */
template <class T>
T& dynamic_shared() { return *static_cast<T*>(kwemu_dynamic_shared()); }
template <class T>
struct DynamicShared {
  operator T*() const { return static_cast<T*>(kwemu_dynamic_shared()); }
  template <class U>
  explicit operator U*() const { return static_cast<U*>(kwemu_dynamic_shared()); }
};

/* Kernels whose address became a void*: how to launch them. */
typedef void (*Launcher)(const Config&, const void* kernel, void** args);
inline std::map<const void*, Launcher>& launchers() {
  static std::map<const void*, Launcher> known;
  return known;
}
template <class... Params>
void* kernel(void (*function)(Params...)) {
  void* address = reinterpret_cast<void*>(function);
  launchers()[address] = [](const Config& config, const void* k, void** args) {
    launch_packed(config, reinterpret_cast<void (*)(Params...)>(const_cast<void*>(k)), args, std::index_sequence_for<Params...>());
  };
  return address;
}

/* A launch as data: sizes and packed arguments come from whoever read the launch line. */
template <class... Params>
void launch_data(const char* name, const unsigned* dims, size_t bytes, void (*kernel)(Params...), void** args) {
  Config config = configured(name, "", 0, dim3(dims[0], dims[1], dims[2]), dim3(dims[3], dims[4], dims[5]), bytes);
  config.by_host = false;
  launch_packed(config, kernel, args, std::index_sequence_for<Params...>());
}
}  // namespace kwemu
