// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 1_element.cu -o k.cubin
// run: kernelwright evaluate reference.py 1_element.cu --device emulated --set batch=1 --set heads=2 --set tokens=5 --set half=8
// Rotary embedding of x[B, H, T, 2 D], float32, rotate-half form: a thread an output element. Each loads both members of its
// pair, cos and sin, so that every value is loaded twice, and divides an index three times.
// shows: LDG.E FMUL STG.E
// language: cuda
// axes: T = in0[2], D = in1[1], N = numel(in0)
// dtypes: in0 = float32, in1 = float32, in2 = float32, out0 = float32
// require: in1[0] == T, numel(in2) == numel(in1)
// require: in0[3] == 2 * D
// launch: rotary grid(cdiv(N, 256)) block(256) args(in0, in1, in2, out0, T, D, int64(N))

extern "C" __global__ __launch_bounds__(256) void rotary(const float* x, const float* cosine, const float* sine, float* y,
                                                         int tokens, int half, long long n) {
  const long long i = blockIdx.x * 256ll + threadIdx.x;
  if (i >= n) return;
  const int d = i % (2 * half), t = i / (2 * half) % tokens;
  const float c = cosine[t * half + d % half], s = sine[t * half + d % half];
  y[i] = d < half ? x[i] * c - x[i + half] * s : x[i] * c + x[i - half] * s;
}
