// nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -DKITTENS_HOPPER -DNDEBUG --use_fast_math --expt-extended-lambda --expt-relaxed-constexpr \
//   -Xcompiler=-Wno-psabi,-fno-strict-aliasing -I$TK_ROOT/include -I$TK_ROOT/prototype -I$KW \
//   -shared -Xcompiler -fPIC 3_tma.cu -lcuda -o k.so
// run: kernelwright evaluate reference.py 3_tma.cu --device none
// Heads come and go by TMA (UTMALDG, UTMASTG): each warp has two pairs of half tiles in shared memory, and the next head is on
// its way while this one is turned. No register holds a byte that is still travelling.
// shows: UTMALDG UTMASTG FFMA
// language: thunderkittens
// architectures: sm_90a
// axes: B = in0[0], H = in0[1], T = in0[2]
// launch: rotary grid(T // 64, B) block(128) shared(17 * 1024)
#include "kittens.cuh"
#include "refuse.h"
using namespace kittens;

using Tile = st_bf<16, 32>;
struct Globals {
  gl<bf16, -1, -1, -1, 64, Tile> x;
  gl<bf16, 1, 1, -1, 32> c, s;
  gl<bf16, -1, -1, -1, 64, Tile> y;
};
constexpr int SHARED = 16 * sizeof(Tile) + 1024;  // and room to align
using Half = rt_fl<16, 32>;  // 16 tokens, one half of a head

__device__ void turn(Half& a, Half& b, const Half& c, const Half& s) {  // (a, b) becomes (a c - b s, b c + a s)
  Half old, part;
  warp::copy(old, a);
  warp::mul(a, a, c);
  warp::mul(part, b, s);
  warp::sub(a, a, part);
  warp::mul(b, b, c);
  warp::mul(part, old, s);
  warp::add(b, b, part);
}

__global__ __launch_bounds__(128) void rotary(const __grid_constant__ Globals g) {
  extern __shared__ alignment_dummy raw[];
  tma_swizzle_allocator shared((int*)&raw[0]);
  Tile(&as)[4][2] = shared.allocate<Tile, 4, 2>();
  Tile(&bs)[4][2] = shared.allocate<Tile, 4, 2>();
  __shared__ semaphore arrived[4][2];
  if (threadIdx.x < 8) init_semaphore(arrived[threadIdx.x / 2][threadIdx.x % 2], 0, 1);
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // TMA shall see the semaphores as they are now
  __syncthreads();
  const int batch = blockIdx.y, me = warpid(), at = blockIdx.x * 4 + me, heads = g.x.depth();
  auto start = [&](int head, int half) {  // one lane asks
    if (laneid() != 0 || head >= heads) return;
    tma::store_async_read_wait();  // the result that left from this half has been read
    tma::expect_bytes(arrived[me][half], 2 * sizeof(Tile));
    tma::load_async(as[me][half], g.x, {batch, head, at, 0}, arrived[me][half]);
    tma::load_async(bs[me][half], g.x, {batch, head, at, 1}, arrived[me][half]);
  };
  start(0, 0);
  Half a, b, c, s;
  warp::load(c, g.c, {at, 0});
  warp::load(s, g.s, {at, 0});
  for (int head = 0; head < heads; ++head) {
    const int half = head % 2;
    start(head + 1, 1 - half);
    wait(arrived[me][half], head / 2 % 2);
    warp::load(a, as[me][half]);
    warp::load(b, bs[me][half]);
    turn(a, b, c, s);
    warp::sync();
    warp::store(as[me][half], a);
    warp::store(bs[me][half], b);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");  // what this thread wrote, TMA may read
    warp::sync();
    if (laneid() == 0) {
      tma::store_async(g.y, as[me][half], {batch, head, at, 0});
      tma::store_async(g.y, bs[me][half], {batch, head, at, 1});
    }
  }
  if (laneid() == 0) tma::store_async_wait();
}

KW_EXPORT int kw_run(const kw_tensor* in, kw_tensor* out, const kw_scalar*, kw_workspace*, kw_stream stream) {
  for (int i = 0; i < 3; ++i) NEEDS(in[i].dtype == KW_BFLOAT16 && aligned(in[i].data, 16), "bfloat16, aligned to 16 bytes");
  NEEDS(in[0].ndim == 4 && in[0].shape[3] == 64, "x: [batch, heads, tokens, 64]");
  const size_t B = in[0].shape[0], H = in[0].shape[1], T = in[0].shape[2];
  NEEDS(in[1].ndim == 2 && in[1].shape[0] == T && in[1].shape[1] == 32, "cos: [tokens, 32]");
  NEEDS(in[2].ndim == 2 && in[2].shape[0] == T && in[2].shape[1] == 32, "sin: [tokens, 32]");
  NEEDS(T > 0 && T % 64 == 0 && T < INT32_MAX && B > 0 && H > 0 && B <= 65535 && H <= 65535, "64 tokens a block");
  NEEDS(aligned(out[0].data, 16), "16-byte rows");
  Globals g{{(bf16*)in[0].data, B, H, T, nullptr}, {(bf16*)in[1].data, nullptr, nullptr, T, nullptr},
            {(bf16*)in[2].data, nullptr, nullptr, T, nullptr}, {(bf16*)out[0].data, B, H, T, nullptr}};
  rotary<<<dim3(T / 64, B), 128, SHARED, (cudaStream_t)stream>>>(g);
  return launched();
}
