/* cuda::std for CuTe's headers: the host's own. */
#pragma once
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <type_traits>
namespace cuda {
namespace std {
using namespace ::std;
}
}  // namespace cuda
