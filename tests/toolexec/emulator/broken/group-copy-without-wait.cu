// kernel: each row minus its last element, fetched by the whole block
// in: float32[10, 90]
// out: float32[10, 90]
// model: in0 - in0[:, -1:]
// tolerance: 1e-6
// fault: pending-copy
// axes: R = in0[0], C = in0[1]
// launch: minus_last grid(R) block(96) shared(4 * C) args(in0, out0, C)
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void minus_last(const float* in, float* out, int cols) {
  extern __shared__ float row[];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, row, in + block.group_index().x * cols, sizeof(float) * cols);  // <- fault
  block.sync();
  int t = block.thread_rank();
  if (t < cols)
    out[block.group_index().x * cols + t] = row[t] - row[cols - 1];  // <- fault
}
