// kernel: the odd numbers of each row of eight first, then zeros; four rows a warp
// in: int32[64, 8]
// out: int32[64, 8]
// model: np.stack([np.concatenate([r[r % 2 == 1], 0 * r[r % 2 == 0]]) for r in in0])
// fault: race
// axes: R = in0[0]
// require: R % 16 == 0
// launch: pack grid(R // 16) block(128) args(in0, out0)
extern "C" __global__ void pack(const int* in, int* out) {
  int i = blockIdx.x * blockDim.x + threadIdx.x, lane = i % 8, row = i / 8;
  int v = in[i], rank = v & 1;
  for (int d = 1; d < 8; d *= 2) {
    int u = __shfl_up_sync(0xffffffff, rank, d, 8);
    if (lane >= d) rank += u;
  }
  int total = __shfl_sync(0xffffffff, rank, 7);  // should have width 8: this is the first row's for all
  if (v & 1)
    out[row * 8 + rank - 1] = v;  // <- fault
  if (lane >= total)
    out[row * 8 + lane] = 0;  // <- fault
}
