// kernel: Euclidean length of each row, a tile of eight threads a row
// in: float32[29, 13]
// out: float32[29]
// model: np.sqrt((in0 * in0).sum(1))
// tolerance: 1e-5
// axes: R = in0[0], C = in0[1]
// launch: lengths grid(cdiv(R, 9)) block(72) args(in0, out0, R, C)
#include <cooperative_groups.h>
namespace cg = cooperative_groups;
template <unsigned W>
__device__ float tile_sum(const cg::thread_block_tile<W>& g, float v) {
  for (unsigned d = g.size() / 2; d > 0; d /= 2) v += g.shfl_xor(v, d);
  return v;
}
extern "C" __global__ void lengths(const float* in, float* out, int rows, int cols) {
  cg::thread_block block = cg::this_thread_block();
  auto tile = cg::tiled_partition<8>(block);
  int r = block.group_index().x * 9 + block.thread_rank() / 8;
  float v = 0.f;
  if (r < rows)
    for (int c = tile.thread_rank(); c < cols; c += tile.size()) v += in[r * cols + c] * in[r * cols + c];
  v = tile_sum<8>(tile, v);
  if (r < rows && tile.thread_rank() == 0) out[r] = sqrtf(v);
}
