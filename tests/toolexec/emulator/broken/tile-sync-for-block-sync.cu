// kernel: mean of each row, four tiles a block
// in: float32[8, 210]
// out: float32[8]
// model: in0.mean(1)
// tolerance: 1e-5
// fault: race uninitialised
// axes: R = in0[0], C = in0[1]
// launch: row_mean grid(R) block(128) args(in0, out0, C)
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
extern "C" __global__ void row_mean(const float* in, float* out, int cols) {
  __shared__ float part[4];
  cg::thread_block block = cg::this_thread_block();
  cg::thread_block_tile<32> tile = cg::tiled_partition<32>(block);
  float v = 0;
  for (int i = block.thread_rank(); i < cols; i += block.size()) v += in[blockIdx.x * cols + i];
  for (int d = tile.size() / 2; d > 0; d /= 2) v += tile.shfl_down(v, d);
  if (tile.thread_rank() == 0)
    part[tile.meta_group_rank()] = v;  // <- fault
  tile.sync();
  if (block.thread_rank() == 0)
    out[blockIdx.x] = (part[0] + part[1] + part[2] + part[3]) / cols;  // <- fault
}
