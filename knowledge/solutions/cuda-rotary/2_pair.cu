// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 2_pair.cu -o k.cubin
// run: kernelwright evaluate reference.py 2_pair.cu --device emulated --set batch=1 --set heads=2 --set tokens=5 --set half=8
// A thread a pair: two loads, two stores, one cos and one sin for two outputs. What was loaded twice is loaded once.
// shows: LDG.E FFMA STG.E
// language: cuda
// axes: T = in0[2], D = in1[1], P = numel(in0) // 2
// dtypes: in0 = float32, in1 = float32, in2 = float32, out0 = float32
// require: in1[0] == T, numel(in2) == numel(in1)
// require: in0[3] == 2 * D
// launch: rotary grid(cdiv(P, 256)) block(256) args(in0, in1, in2, out0, T, D, int64(P))

extern "C" __global__ __launch_bounds__(256) void rotary(const float* x, const float* cosine, const float* sine, float* y,
                                                         int tokens, int half, long long pairs) {
  const long long p = blockIdx.x * 256ll + threadIdx.x;
  if (p >= pairs) return;
  const long long row = p / half;  // a token of a head
  const int d = p % half, t = row % tokens;
  const float c = cosine[t * half + d], s = sine[t * half + d];
  const long long i = row * 2 * half + d;
  const float a = x[i], b = x[i + half];
  y[i] = a * c - b * s;
  y[i + half] = b * c + a * s;
}
