/* Cooperative groups: grid, block, tiles of a warp, coalesced lanes. Built on what kwemu/sync.h has. */
#pragma once
#include "kwemu/prelude.h"

namespace cooperative_groups {
struct thread_block {
  class arrival_token {
    friend struct thread_block;
    unsigned phase_ = 0;
  };
  arrival_token barrier_arrive(KWEMU_HERE) const {
    arrival_token made;
    made.phase_ = kwemu_object_arrive(kwemu_block_object(), 1, 0, line, file);
    return made;
  }
  void barrier_wait(arrival_token&& token, KWEMU_HERE) const { kwemu_object_wait(kwemu_block_object(), token.phase_, line, file); }
  void sync(KWEMU_HERE) const { kwemu_barrier(0, 0, 0, kwemu::BARRIER_ONLY, line, file); }
  unsigned thread_rank() const { return kwemu::thread_rank(); }
  unsigned num_threads() const { dim3 d = kwemu::block_size(); return d.x * d.y * d.z; }
  unsigned size() const { return num_threads(); }
  dim3 group_index() const { return kwemu::block_index(); }
  dim3 thread_index() const { return kwemu::thread_index(); }
  dim3 group_dim() const { return kwemu::block_size(); }
  dim3 dim_threads() const { return kwemu::block_size(); }
};
struct grid_group {
  bool is_valid() const { return true; }
  void sync(KWEMU_HERE) const { kwemu_grid_barrier(line, file); }
  unsigned long long block_rank() const {
    uint3 b = kwemu::block_index();
    dim3 g = kwemu::grid_size();
    return b.x + (unsigned long long)g.x * (b.y + (unsigned long long)g.y * b.z);
  }
  dim3 block_index() const { return kwemu::block_index(); }
  dim3 dim_blocks() const { return kwemu::grid_size(); }
  unsigned long long num_blocks() const { dim3 g = kwemu::grid_size(); return (unsigned long long)g.x * g.y * g.z; }
  unsigned long long thread_rank() const { return block_rank() * thread_block().size() + kwemu::thread_rank(); }
  unsigned long long num_threads() const { return num_blocks() * thread_block().size(); }
  unsigned long long size() const { return num_threads(); }
  dim3 group_dim() const { return kwemu::grid_size(); }
};
/* Lanes of a warp, named by their mask; ranks count the mask's bits. */
class lanes {
 protected:
  unsigned mask_;
  int lane_of(unsigned rank) const {
    for (int lane = 0; lane < 32; lane++)
      if (mask_ >> lane & 1 && rank-- == 0) return lane;
    return kwemu::lane_id();
  }
  unsigned by_rank(unsigned bits) const {
    unsigned packed = 0, rank = 0;
    for (int lane = 0; lane < 32; lane++)
      if (mask_ >> lane & 1) packed |= (bits >> lane & 1) << rank++;
    return packed;
  }

 public:
  explicit lanes(unsigned mask) : mask_(mask) {}
  unsigned mask() const { return mask_; }
  unsigned thread_rank() const { return __builtin_popcount(mask_ & ((1u << kwemu::lane_id()) - 1)); }
  unsigned num_threads() const { return __builtin_popcount(mask_); }
  unsigned size() const { return num_threads(); }
  void sync(KWEMU_HERE) const { __syncwarp(mask_, file, line); }
  template <class T>
  T shfl(T v, int rank, KWEMU_HERE) const { return __shfl_sync(mask_, v, lane_of(unsigned(rank) % size()), 32, file, line); }
  template <class T>
  T shfl_down(T v, unsigned d, KWEMU_HERE) const {
    unsigned to = thread_rank() + d;
    return __shfl_sync(mask_, v, lane_of(to < size() ? to : thread_rank()), 32, file, line);
  }
  template <class T>
  T shfl_up(T v, unsigned d, KWEMU_HERE) const {
    unsigned me = thread_rank();
    return __shfl_sync(mask_, v, lane_of(me >= d ? me - d : me), 32, file, line);
  }
  template <class T>
  T shfl_xor(T v, unsigned m, KWEMU_HERE) const { return __shfl_sync(mask_, v, lane_of(thread_rank() ^ m), 32, file, line); }
  int any(int p, KWEMU_HERE) const { return __any_sync(mask_, p, file, line); }
  int all(int p, KWEMU_HERE) const { return __all_sync(mask_, p, file, line); }
  unsigned ballot(int p, KWEMU_HERE) const {
    return by_rank(__ballot_sync(mask_, p, file, line));
  }
  template <class T>
  unsigned match_any(T v, KWEMU_HERE) const { return by_rank(__match_any_sync(mask_, v, file, line)); }
  template <class T>
  unsigned match_all(T v, int& all, KWEMU_HERE) const { return by_rank(__match_all_sync(mask_, v, &all, file, line)); }
};
struct coalesced_group : lanes {
  using lanes::lanes;
  unsigned meta_group_rank() const { return 0; }
  unsigned meta_group_size() const { return 1; }
};
template <unsigned Size, class Parent = thread_block>
struct thread_block_tile : lanes {
  static_assert(Size <= 32 && !(Size & (Size - 1)), "the emulator has tiles of 1, 2, 4, 8, 16 or 32 threads");
  thread_block_tile() : lanes((Size == 32 ? 0xffffffffu : (1u << (Size % 32)) - 1) << (kwemu::lane_id() / Size * Size)) {}
  static constexpr unsigned size() { return Size; }
  static constexpr unsigned num_threads() { return Size; }
  unsigned thread_rank() const { return kwemu::lane_id() % Size; }
  unsigned meta_group_rank() const { return kwemu::thread_rank() / Size; }
  unsigned meta_group_size() const { return (thread_block().size() + Size - 1) / Size; }
};
inline thread_block this_thread_block() { return {}; }
inline grid_group this_grid() { return {}; }
inline coalesced_group coalesced_threads(KWEMU_HERE) { return coalesced_group(__activemask(file, line)); }
template <unsigned Size, class Parent>
thread_block_tile<Size, Parent> tiled_partition(const Parent&) { return {}; }
/* A tile whose size is known when it runs: of a block, or of lanes of a warp. */
inline coalesced_group tiled_partition(const thread_block&, unsigned size) {
  return coalesced_group((size >= 32 ? 0xffffffffu : (1u << size) - 1) << (kwemu::lane_id() / size * size));
}
inline coalesced_group tiled_partition(const lanes& g, unsigned size) {
  unsigned mine = g.thread_rank() / size, mask = 0, rank = 0;
  for (int lane = 0; lane < 32; lane++)
    if (g.mask() >> lane & 1 && rank++ / size == mine) mask |= 1u << lane;
  return coalesced_group(mask);
}
template <class Group, class Label>
coalesced_group labeled_partition(const Group& g, Label label, KWEMU_HERE) { return coalesced_group(__match_any_sync(g.mask(), label, file, line)); }
template <class Group>
coalesced_group binary_partition(const Group& g, bool side, KWEMU_HERE) { return labeled_partition(g, int(side), file, line); }
typedef coalesced_group thread_group;
template <class Group>
void sync(const Group& g, KWEMU_HERE) { g.sync(file, line); }

template <class T>
struct plus { T operator()(T a, T b) const { return a + b; } };
template <class T>
struct less { T operator()(T a, T b) const { return a < b ? a : b; } };
template <class T>
struct greater { T operator()(T a, T b) const { return a < b ? b : a; } };
template <class T>
struct bit_and { T operator()(T a, T b) const { return a & b; } };
template <class T>
struct bit_or { T operator()(T a, T b) const { return a | b; } };
template <class T>
struct bit_xor { T operator()(T a, T b) const { return a ^ b; } };
template <class Group, class T, class F>
T reduce(const Group& g, T v, F join, KWEMU_HERE) { return kwemu::fold(g.mask(), v, line, file, join, true); }
template <class Group, class T, class F>
T inclusive_scan(const Group& g, T v, F join, KWEMU_HERE) {
  for (unsigned d = 1; d < g.size(); d *= 2) {
    T other = g.shfl_up(v, d, file, line);
    if (g.thread_rank() >= d) v = join(other, v);
  }
  return v;
}
template <class Group, class T>
T inclusive_scan(const Group& g, T v, KWEMU_HERE) { return inclusive_scan(g, v, plus<T>(), file, line); }
template <class Group, class T>
T exclusive_scan(const Group& g, T v, KWEMU_HERE) {
  T all = inclusive_scan(g, v, plus<T>(), file, line);
  T before = g.shfl_up(all, 1, file, line);
  return g.thread_rank() ? before : T(0);
}

/* Copies that a group makes together, in pieces as large as the addresses allow; one group of copies a call. */
template <class Group>
__attribute__((always_inline)) inline void memcpy_async(const Group& g, void* to, const void* from, size_t bytes) {
  kwemu::copy_together(to, from, bytes, unsigned(g.thread_rank()), unsigned(g.size()), nullptr);
  kwemu_copy_commit();
}
template <class Group, class T>
__attribute__((always_inline)) inline void memcpy_async(const Group& g, T* to, size_t room, const T* from, size_t elements) {
  memcpy_async(g, static_cast<void*>(to), static_cast<const void*>(from), sizeof(T) * (room < elements ? room : elements));
}
template <class Group>
void wait(const Group& g, KWEMU_HERE) {
  kwemu_copy_wait(-1);
  g.sync(file, line);
}
template <unsigned Left, class Group>
void wait_prior(const Group& g, KWEMU_HERE) {
  kwemu_copy_wait(int(Left));
  g.sync(file, line);
}
}  // namespace cooperative_groups
