// kernel: sum of each sixteen
// in: int32[1001]
// out: int32[63]
// model: np.pad(in0, (0, 7)).reshape(63, 16).sum(1)
// fault: wrong-mask deadlock
// axes: N = in0[0]
// launch: sums grid(cdiv(N, 128)) block(128) args(in0, out0, N)
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
extern "C" __global__ void sums(const int* in, int* out, int n) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int s = cg::reduce(tile, in[i], cg::plus<int>());  // <- fault
  if (tile.thread_rank() == 0) out[i / 16] = s;
}
