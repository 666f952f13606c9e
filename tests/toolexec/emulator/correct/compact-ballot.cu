// kernel: the digits above four in their order, then -1; and how many they are; one block
// in: int32[700]
// out: int32[700], int32[1]
// model: (np.concatenate([in0[in0 > 4], np.full((in0 <= 4).sum(), -1)]), np.array([(in0 > 4).sum()]))
// axes: N = in0[0]
// launch: compact grid(1) block(128) args(in0, out0, out1, N)
extern "C" __global__ void compact(const int* in, int* out, int* count, int n) {
  __shared__ int per_warp[4];
  const int t = threadIdx.x, lane = t & 31, warp = t >> 5;
  int kept = 0;  // by the whole block so far; the same in every thread
  for (int base = 0; base < n; base += 128) {
    int i = base + t, v = i < n ? in[i] : 0;
    bool keep = v > 4;
    unsigned votes = __ballot_sync(0xffffffffu, keep);
    if (lane == 0) per_warp[warp] = __popc(votes);
    __syncthreads();
    int at = kept + __popc(votes & ((1u << lane) - 1));
    for (int w = 0; w < 4; w++) {
      if (w < warp) at += per_warp[w];
      kept += per_warp[w];
    }
    if (keep) out[at] = v;
    __syncthreads();
  }
  for (int i = kept + t; i < n; i += 128) out[i] = -1;
  if (t == 0) *count = kept;
}
