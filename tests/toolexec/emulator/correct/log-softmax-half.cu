// kernel: log-softmax of half-precision rows, a tile of 16 a row
// in: float16[11, 50]
// out: float32[11, 50]
// model: in0.astype(np.float32) - np.log(np.exp(in0.astype(np.float32)).sum(1, keepdims=True))
// tolerance: 1e-4
// axes: R = in0[0], C = in0[1]
// launch: log_softmax grid(cdiv(R, 4)) block(64) args(in0, out0, R, C)
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;
extern "C" __global__ void log_softmax(const __half* in, float* out, int rows, int cols) {
  auto tile = cg::tiled_partition<16>(cg::this_thread_block());
  int r = blockIdx.x * 4 + tile.meta_group_rank();
  if (r >= rows) return;  // a whole tile
  in += r * cols;
  out += r * cols;
  float m = -1e30f, s = 0.f;
  for (int c = tile.thread_rank(); c < cols; c += 16) m = fmaxf(m, __half2float(in[c]));
  m = cg::reduce(tile, m, cg::greater<float>());
  for (int c = tile.thread_rank(); c < cols; c += 16) s += expf(__half2float(in[c]) - m);
  s = cg::reduce(tile, s, cg::plus<float>());
  float shift = m + logf(s);
  for (int c = tile.thread_rank(); c < cols; c += 16) out[c] = __half2float(in[c]) - shift;
}
