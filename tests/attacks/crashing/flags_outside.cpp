// expect: COMPILE_ERROR POLICY REFUSED
// task: row_softmax
// flags: -fplugin=kernel_plugin.so -wrapper sh,-c,id -o /tmp/kw_attack_probe_flag
// Flags that reach outside the sources.
#include "kernelwright.h"

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) { return in[0].ndim + out[0].ndim < 0; }
