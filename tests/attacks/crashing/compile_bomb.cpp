// expect: COMPILE_ERROR TIMEOUT
// task: row_softmax
// Keeps the compiler busy for ever.
#include "kernelwright.h"

template <int A, int B>
struct Ackermann { static constexpr long value = Ackermann<A - 1, B>::value + Ackermann<A, B - 1>::value; };
template <int B>
struct Ackermann<0, B> { static constexpr long value = Ackermann<B % 7 + 600, B - 1>::value; };
template <int A>
struct Ackermann<A, 0> { static constexpr long value = A; };

int kw_run(const kw_tensor *in, kw_tensor *out, const kw_scalar *, kw_workspace *, kw_stream) { return (int)Ackermann<700, 700>::value + in[0].ndim + out[0].ndim; }
