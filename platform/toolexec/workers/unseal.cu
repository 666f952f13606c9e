// What toolexec/sealing.py computes, on a GPU: inputs come out of their seal after "go", outputs are summed before "done".
// Both are ours, compiled when a session needs them and launched by workers/device_seal.py; the lines below say to the
// compiler's side which kernels there are.
// launch: kw_unseal grid(1) block(256) args(in0, in1, out0, int64(1), int64(1))
// launch: kw_keyed_sum grid(1) block(256) args(in0, in1, out0, int64(1), int64(1))
typedef unsigned long long u64;

struct Four {
  u64 word[4];
};

// Philox4x64-10 (Salmon et al., SC 2011), block number `block` of a stream; numpy counts before it draws.
__device__ Four keystream(const u64* key, u64 stream, u64 block) {
  u64 k0 = key[0], k1 = key[1], a = block + 1, b = stream, c = 0, d = 0;
  for (int round = 0; round < 10; ++round) {
    u64 high0 = __umul64hi(0xD2E7470EE14C6C93ull, a), low0 = 0xD2E7470EE14C6C93ull * a;
    u64 high1 = __umul64hi(0xCA5A826395121157ull, c), low1 = 0xCA5A826395121157ull * c;
    a = high1 ^ b ^ k0;
    b = low1;
    c = high0 ^ d ^ k1;
    d = low0;
    k0 += 0x9E3779B97F4A7C15ull;
    k1 += 0xBB67AE8584CAA73Bull;
  }
  Four found;
  found.word[0] = a;
  found.word[1] = b;
  found.word[2] = c;
  found.word[3] = d;
  return found;
}

// 32 bytes as four words; what lies beyond `size` is zero.
__device__ Four loaded(const unsigned char* data, long long at, long long size) {
  Four found;
  if (at + 32 <= size && ((u64)(data + at) & 7) == 0) {
    const u64* words = (const u64*)(data + at);
    for (int i = 0; i < 4; ++i) found.word[i] = words[i];
    return found;
  }
  for (int i = 0; i < 4; ++i) {
    u64 word = 0;
    for (int byte = 0; byte < 8; ++byte) {
      long long here = at + 8 * i + byte;
      if (here < size) word |= (u64)data[here] << (8 * byte);
    }
    found.word[i] = word;
  }
  return found;
}

extern "C" __global__ void kw_unseal(
    const u64* key, const unsigned char* sealed, unsigned char* plain, long long size, long long stream) {
  long long step = (long long)gridDim.x * blockDim.x;
  for (long long block = (long long)blockIdx.x * blockDim.x + threadIdx.x; block * 32 < size; block += step) {
    Four mask = keystream(key, (u64)stream, (u64)block), found = loaded(sealed, block * 32, size);
    long long at = block * 32;
    if (at + 32 <= size && ((u64)(plain + at) & 7) == 0) {
      u64* words = (u64*)(plain + at);
      for (int i = 0; i < 4; ++i) words[i] = found.word[i] ^ mask.word[i];
    } else {
      for (int i = 0; i < 32 && at + i < size; ++i) {
        plain[at + i] = (unsigned char)((found.word[i / 8] ^ mask.word[i / 8]) >> (8 * (i % 8)));
      }
    }
  }
}

extern "C" __global__ void kw_keyed_sum(
    const u64* key, const unsigned char* data, u64* total, long long size, long long stream) {
  __shared__ u64 parts[256];
  long long step = (long long)gridDim.x * blockDim.x;
  u64 own = 0;
  for (long long block = (long long)blockIdx.x * blockDim.x + threadIdx.x; block * 32 < size; block += step) {
    Four mask = keystream(key, (u64)stream, (u64)block), found = loaded(data, block * 32, size);
    own += (found.word[0] + mask.word[0]) * (found.word[1] + mask.word[1]) +
           (found.word[2] + mask.word[2]) * (found.word[3] + mask.word[3]);
  }
  parts[threadIdx.x] = own;
  __syncthreads();
  for (int half = 128; half; half >>= 1) {
    if (threadIdx.x < half) parts[threadIdx.x] += parts[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, parts[0]);
}
