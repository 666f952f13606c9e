// kernel: reverse each row, one block a row
// in: float32[5, 70]
// out: float32[5, 70]
// model: in0[:, ::-1]
// fault: race uninitialised
// axes: C = in0[1]
// launch: reverse grid(in0[0]) block(C) args(in0, out0, C)
extern "C" __global__ void reverse(const float* in, float* out, int c) {
  __shared__ float row[128];
  int t = threadIdx.x;
  row[t] = in[blockIdx.x * c + t];           // <- fault
  out[blockIdx.x * c + t] = row[c - 1 - t];  // <- fault
}
