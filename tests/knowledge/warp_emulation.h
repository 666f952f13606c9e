// Runs a CuTe kernel on the CPU, a fiber a CUDA thread: barriers, shuffles, ldmatrix, mma.sync and cp.async after the PTX
// ISA. cp.async lands only when its group is waited for, so a forgotten wait shows. Correctness only, never time.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <algorithm>
#include <functional>
#include <vector>

namespace emulation {
struct Pending { void* to; const void* from; unsigned bytes, kept; };
struct Fiber { void* sp; bool done; std::deque<std::vector<Pending>> groups; std::vector<Pending> open; };
struct Meeting { unsigned arrived = 0, generation = 0; };
struct Block {
  void* scheduler;
  std::vector<Fiber> fibers;
  std::vector<Meeting> warps;
  Meeting all;
  unsigned current = 0;
  std::function<void()> body;
  std::vector<char> stacks;
  std::vector<uint64_t> mailbox;  // 16 words a thread
};
struct Index { unsigned x = 0, y = 0, z = 0; };
inline Block* block;
inline Index thread_index, block_index, block_size, grid_size;
extern "C" void emulation_switch(void** from, void* to);
asm(R"(
.text
.weak emulation_switch
.type emulation_switch,@function
emulation_switch:
 pushq %rbp; pushq %rbx; pushq %r12; pushq %r13; pushq %r14; pushq %r15
 movq %rsp,(%rdi)
 movq %rsi,%rsp
 popq %r15; popq %r14; popq %r13; popq %r12; popq %rbx; popq %rbp
 ret
)");
inline void yield() { emulation_switch(&block->fibers[block->current].sp, block->scheduler); }
inline void meet(Meeting& m, unsigned of) {
  const unsigned generation = m.generation;
  if (++m.arrived == of) m.arrived = 0, ++m.generation;
  while (m.generation == generation) yield();
}
inline void sync_block() { meet(block->all, block->fibers.size()); }
inline void sync_warp() { meet(block->warps[block->current / 32], 32); }
inline void enter() {
  block->body();
  block->fibers[block->current].done = true;
  yield();
}
template <class F>
void launch(dim3 grid, dim3 threads, F body) {
  const size_t stack = 256 << 10, count = threads.x * threads.y * threads.z;
  Block b;
  block = &b;
  b.body = body;
  b.stacks.resize(count * stack + 64);
  b.mailbox.resize(count * 16);
  block_size = {threads.x, threads.y, threads.z};
  grid_size = {grid.x, grid.y, grid.z};
  for (size_t i = 0; i < size_t(grid.x) * grid.y * grid.z; ++i) {
    block_index = {unsigned(i % grid.x), unsigned(i / grid.x % grid.y), unsigned(i / grid.x / grid.y)};
    b.fibers.assign(count, {});
    b.warps.assign((count + 31) / 32, {});
    b.all = {};
    for (size_t t = 0; t < count; ++t) {
      void** top = (void**)(uintptr_t(b.stacks.data() + (t + 1) * stack) & ~63ull);
      *--top = nullptr, *--top = (void*)enter;
      for (int k = 0; k < 6; ++k) *--top = nullptr;
      b.fibers[t].sp = top;
    }
    for (size_t alive = count, idle = 0; alive; ++idle) {
      if (idle > 1000000) abort();  // some thread waits for ever
      for (size_t t = 0; t < count; ++t) {
        if (b.fibers[t].done) continue;
        b.current = t;
        thread_index = {unsigned(t % threads.x), unsigned(t / threads.x % threads.y), unsigned(t / threads.x / threads.y)};
        emulation_switch(&b.scheduler, b.fibers[t].sp);
        if (b.fibers[t].done) --alive;
      }
    }
  }
}
// What every lane of a warp puts in, all lanes can read.
template <class T>
const T* exchange(const T& mine) {
  static_assert(sizeof(T) <= 128, "a mailbox holds 128 bytes");
  memcpy(&block->mailbox[block->current * 16], &mine, sizeof(T));
  sync_warp();
  return nullptr;
}
template <class T>
T of_lane(unsigned lane) {
  T value;
  memcpy(&value, &block->mailbox[((block->current & ~31u) + lane) * 16], sizeof(T));
  return value;
}
template <class T>
T shuffle(T v, unsigned from) {
  exchange(v);
  T r = of_lane<T>(from & 31);
  sync_warp();
  return r;
}
inline unsigned lane() { return block->current % 32; }
inline void ldmatrix(const void* row, bool transposed, int count, uint32_t* out) {
  exchange(row);
  for (int i = 0; i < count; ++i) {
    uint16_t pair[2];
    for (int j = 0; j < 2; ++j) {
      const unsigned r = transposed ? lane() % 4 * 2 + j : lane() / 4, c = transposed ? lane() / 4 : lane() % 4 * 2 + j;
      const void* source = of_lane<const void*>(i * 8 + r);
      if (uintptr_t(source) % 16) fprintf(stderr, "ldmatrix: row not aligned to 16 bytes\n"), abort();
      pair[j] = ((const uint16_t*)source)[c];
    }
    memcpy(&out[i], pair, 4);
  }
  sync_warp();
}
struct Fragments { uint32_t a[4], b[2]; };
template <class Half>
void mma_16x8x16(float* d, const uint32_t* a, const uint32_t* b, const float* c) {
  Fragments mine = {{a[0], a[1], a[2], a[3]}, {b[0], b[1]}};
  exchange(mine);
  float sum[4] = {c[0], c[1], c[2], c[3]};
  const unsigned g = lane() / 4, t = lane() % 4;
  for (int i = 0; i < 4; ++i)
    for (int k = 0; k < 16; ++k) {
      const unsigned owner = k % 8 / 2, half = k % 2, column = 2 * t + i % 2;
      Half pa[2], pb[2];
      memcpy(pa, &of_lane<Fragments>(g * 4 + owner).a[(i / 2) + k / 8 * 2], 4);
      memcpy(pb, &of_lane<Fragments>(column * 4 + owner).b[k / 8], 4);
      sum[i] += float(pa[half]) * float(pb[half]);
    }
  sync_warp();
  for (int i = 0; i < 4; ++i) d[i] = sum[i];
}
inline void cp_async(const void* from, void* to, unsigned bytes, unsigned kept) {
  if (uintptr_t(to) % bytes || (kept && uintptr_t(from) % bytes)) fprintf(stderr, "cp.async: not aligned\n"), abort();
  block->fibers[block->current].open.push_back({to, from, bytes, kept});
}
inline void cp_async_commit() {
  Fiber& f = block->fibers[block->current];
  f.groups.push_back(std::move(f.open)), f.open.clear();
}
inline void cp_async_land(size_t left) {
  Fiber& f = block->fibers[block->current];
  for (; f.groups.size() > left; f.groups.pop_front())
    for (const Pending& p : f.groups.front()) memset(p.to, 0, p.bytes), memcpy(p.to, p.from, p.kept);
}
}  // namespace emulation
