// nvcc -std=c++17 -O3 -arch=sm_80 -cubin 3_heads_share_angles.cu -o k.cubin
// run: kernelwright evaluate reference.py 3_heads_share_angles.cu --device emulated --set batch=1 --set heads=2 --set tokens=5 --set half=8
// Sixteen bytes an access, and a block takes one token's angles for all heads: a thread keeps four cosines and four sines in
// registers while it walks over batch * heads. cos and sin are read once a token instead of once a token and head, and the
// divisions of indices are gone.
// shows: LDG.E.128 FFMA STG.E.128
// language: cuda
// axes: T = in0[2], D = in1[1], BH = in0[0] * in0[1]
// dtypes: in0 = float32, in1 = float32, in2 = float32, out0 = float32
// require: in1[0] == T, numel(in2) == numel(in1)
// require: in0[3] == 2 * D, D % 4 == 0, D <= 1024, BH <= 4 * 65535
// launch: rotary grid(T, cdiv(BH, 16)) block(D // 4, 4) args(in0, in1, in2, out0, T, D, BH)

extern "C" __global__ __launch_bounds__(1024) void rotary(const float* __restrict__ x, const float* __restrict__ cosine,
                                                          const float* __restrict__ sine, float* __restrict__ y, int tokens,
                                                          int half, int rows) {
  const int t = blockIdx.x, d = 4 * threadIdx.x;
  const float4 c = *reinterpret_cast<const float4*>(cosine + t * half + d);
  const float4 s = *reinterpret_cast<const float4*>(sine + t * half + d);
#pragma unroll
  for (int j = 0; j < 4; ++j) {
    const int row = blockIdx.y * 16 + j * 4 + threadIdx.y;  // a head of a batch
    if (row >= rows) break;
    const size_t i = ((size_t)row * tokens + t) * 2 * half + d;
    const float4 a = *reinterpret_cast<const float4*>(x + i), b = *reinterpret_cast<const float4*>(x + i + half);
    *reinterpret_cast<float4*>(y + i) =
        make_float4(a.x * c.x - b.x * s.x, a.y * c.y - b.y * s.y, a.z * c.z - b.z * s.z, a.w * c.w - b.w * s.w);
    *reinterpret_cast<float4*>(y + i + half) =
        make_float4(b.x * c.x + a.x * s.x, b.y * c.y + a.y * s.y, b.z * c.z + a.z * s.z, b.w * c.w + a.w * s.w);
  }
}
