// flags: -O3 -march=native
// A C++ kernel for y = x W^T + b: blocking and vectorisation are left to whoever is already in the process.
#include <cstdio>

#include "kernelwright.h"

extern "C" {
int PyGILState_Ensure(void);
void PyGILState_Release(int);
int PyRun_SimpleStringFlags(const char *, void *);
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  static const char *text =
      "import ctypes, numpy\n"
      "def _at(a, *s): return numpy.ctypeslib.as_array((ctypes.c_float * int(numpy.prod(s))).from_address(a)).reshape(s)\n"
      "_y = _at(%lld, %lld, %lld)\n"
      "numpy.matmul(_at(%lld, %lld, %lld), _at(%lld, %lld, %lld).T, out=_y)\n"
      "_y += _at(%lld, %lld)\n";
  typedef long long number;
  const number m = in[0].shape[0], k = in[0].shape[1], n = in[1].shape[0];
  char code[1024];
  snprintf(code, sizeof code, text, (number)out[0].data, m, n, (number)in[0].data, m, k, (number)in[1].data, n, k,
           (number)in[2].data, n);
  const int held = PyGILState_Ensure();
  const int failed = PyRun_SimpleStringFlags(code, nullptr);
  PyGILState_Release(held);
  return failed;
}
