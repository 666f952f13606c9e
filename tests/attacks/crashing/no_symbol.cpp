// expect: COMPILE_ERROR RUNTIME_ERROR
// task: row_softmax
// kw_run with another signature in C++ linkage: not to be found.
#include <cstdint>

namespace hidden {
int kw_run(int a) { return a; }
}  // namespace hidden
