// kernel: each row minus itself turned round, fetched by the whole block
// in: int32[10, 91]
// out: int32[10, 91]
// model: in0 - in0[:, ::-1]
// axes: R = in0[0], C = in0[1]
// launch: minus_reverse grid(R) block(40) shared(4 * C) args(in0, out0, C)
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
namespace cg = cooperative_groups;
extern "C" __global__ void minus_reverse(const int* in, int* out, int cols) {
  extern __shared__ int row[];
  auto block = cg::this_thread_block();
  cg::memcpy_async(block, row, in + blockIdx.x * cols, sizeof(int) * cols);
  cg::wait(block);
  for (int c = block.thread_rank(); c < cols; c += block.size())
    out[blockIdx.x * cols + c] = row[c] - row[cols - 1 - c];
}
