// expect: RUNTIME_ERROR
// task: row_softmax
// Switches on floating-point traps and rounds towards zero.
#include <cfenv>

#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) {
  fesetround(FE_TOWARDZERO);
  feenableexcept(FE_INVALID | FE_DIVBYZERO | FE_OVERFLOW);
  volatile float zero = 0;
  ((float *)out[0].data)[0] = zero / zero + in[0].ndim;
  return 0;
}
