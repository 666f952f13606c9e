/* The `c` entry of a candidate: the only border between a C or C++ kernel and whoever calls it.
 *
 * in       inputs of Model.forward in order, then parameters and buffers in state_dict order
 * out      outputs in order, allocated by the caller, contiguous, contents undefined (poisoned)
 * scalars  numbers among get_init_inputs() first, then numbers among get_inputs(), flattened, in order
 * ws       what the caller lends: threads it may use, a state pointer that kw_prepare may set
 * stream   NULL on a CPU
 * Returns 0 when done; any other value is a refusal ("this shape is not for me") and counts as RUNTIME_ERROR.
 */
#ifndef KERNELWRIGHT_H
#define KERNELWRIGHT_H
#include <stdint.h>
#ifdef __cplusplus
#define KW_EXPORT extern "C" __attribute__((visibility("default")))
#else
#define KW_EXPORT __attribute__((visibility("default")))
#endif

enum { KW_FLOAT32 = 0, KW_FLOAT64, KW_FLOAT16, KW_BFLOAT16, KW_INT8, KW_UINT8, KW_INT16, KW_INT32, KW_INT64, KW_BOOL };
#define KW_MAX_DIMS 8

typedef struct {
  void *data;
  int32_t dtype; /* KW_FLOAT32 ... */
  int32_t ndim;
  int64_t shape[KW_MAX_DIMS];
  int64_t stride[KW_MAX_DIMS]; /* in elements */
} kw_tensor;

typedef struct {
  double f;        /* the number as a double */
  int64_t i;       /* and truncated to an integer */
  int32_t is_int;  /* 1 when it was an int or bool */
  int32_t reserved;
} kw_scalar;

typedef struct {
  int32_t threads;   /* a kernel may use so many threads, its caller's included */
  int32_t n_in;      /* inputs and parameters together */
  int32_t n_params;  /* the last n_params of in[] are parameters and buffers */
  int32_t n_out;
  int32_t n_scalars;
  int32_t reserved;
  void *state;       /* set by kw_prepare, handed to every kw_run; NULL before */
} kw_workspace;

typedef void *kw_stream;

KW_EXPORT int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *scalars, kw_workspace *ws, kw_stream stream);
/* Optional. Called once for each set of weights, timed apart, before any kw_run. in[] holds the parameters in their
 * places; the inputs' data pointers are NULL, their shapes are set. What it packs lives until the process ends. */
KW_EXPORT int kw_prepare(const kw_tensor *in, const kw_scalar *scalars, kw_workspace *ws);
#endif
