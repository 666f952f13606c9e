// expect: RUNTIME_ERROR COMPILE_ERROR
// task: row_softmax
// Dereferences null while the library is loaded.
#include "kernelwright.h"

static volatile int *volatile place = (volatile int *)8;

__attribute__((constructor)) static void load() { *place = 1; }

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) { return in[0].ndim + out[0].ndim < 0; }
