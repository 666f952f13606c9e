// expect: RUNTIME_ERROR
// task: row_softmax
// Reads an input in kw_prepare, where the pointers are null.
#include "kernelwright.h"

KW_EXPORT int kw_prepare(const kw_tensor *in, const kw_scalar *, kw_workspace *ws) {
  ws->reserved = (int)*(volatile const float *)in[0].data;
  return 0;
}

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) { return in[0].ndim + out[0].ndim < 0; }
