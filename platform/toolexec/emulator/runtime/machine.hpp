/* The state of the emulated machine. Owns the nouns; each .cpp owns what is done with them. */
#pragma once
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>
#include "../include/kwemu/machine.h"
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

namespace kwemu {
constexpr size_t STACK_BYTES = 128 << 10;
constexpr unsigned MAX_THREADS = 1024, WARP = 32, BARRIERS = 16;
constexpr size_t STATIC_SHARED_LIMIT = 48 << 10, SHARED_LIMIT = 227 << 10;
constexpr size_t ARENA_BYTES = 1 << 20, REDZONE = 128;
constexpr size_t DYNAMIC_OFFSET = 1024;  // as aligned as the swizzles of tensor cores want it
constexpr bool CHECKED = KWEMU_CHECK;

enum class State : uint8_t { READY, WAITING, DONE };
enum class Wait : uint8_t { NOTHING, BARRIER, GRID, WARP_MEETING, ACTIVE_LANES, OBJECT };

struct Block;
struct Meeting {  // lanes of one warp at one primitive
  unsigned mask = 0, arrived = 0, holders = 0;
  int op = 0;
  Site site{};
  uint64_t values[WARP];
};
struct Copy {
  char* to;
  const char* from;
  unsigned bytes, zeros;
  uint32_t pc;
};
struct Phased {  // a barrier that lies in memory, objects.cpp
  unsigned expected = 0, next_expected = 0, pending = 0, phase = 0;
  uint32_t gen = 0, past_gen = 0;
  std::vector<uint16_t> clocks, past;  // of those who arrived at this phase, and at the one before
  std::vector<Copy> copies;
};
/* What is known of other blocks: everything of a block before a generation, and of single threads up to a clock. */
struct Knowledge {
  std::map<uint32_t, uint32_t> below;
  std::map<std::pair<uint32_t, unsigned>, std::pair<uint32_t, unsigned>> exact;
  bool empty() const { return below.empty() && exact.empty(); }
  void join(const Knowledge&);
};

struct Thread {
  void* sp = nullptr;
  char* stack = nullptr;
  Block* block = nullptr;
  Now now{};
  State state = State::READY;
  Wait wait = Wait::NOTHING;
  Site site{};          // where it waits
  int result = 0;       // of the barrier it waited at
  int barrier = 0;
  Meeting* held = nullptr;
  std::vector<Copy> open_copies;
  std::deque<std::vector<Copy>> groups;
  unsigned atomics = 0;  // since it last let others run
  uintptr_t waits_for = 0;  // the barrier that lies in memory
  // A plain read beside others' atomics is a race, unless its own atomic update follows: a loop around atomicCAS begins so.
  uintptr_t reads[4] = {}, suspect = 0;
  unsigned next_read = 0;
  std::string suspicion;
  // Order, see shadow.cpp.
  uint32_t clock_gen = 0;
  unsigned clock = 1;
  std::pair<uint32_t, unsigned> near_fence, far_fence;  // generation and clock of the last one; near: of any scope
  uint32_t known_gen = 0;
  std::vector<uint16_t> known;
  Knowledge knows, late;  // late: seen by relaxed atomics, known from the next fence on
};
struct Warp {
  unsigned alive = 0;
  std::vector<Meeting*> open;
};
struct Barrier {
  unsigned arrived = 0, expected = 0;  // expected: 0 for the whole block
  bool counted = false;  // how many come was said
  int count = 0;
  Site site{};
  unsigned first = 0;  // who came first
  std::vector<unsigned> who;
};
struct Placed {  // a declaration of shared memory in a launch
  const void* tag;
  size_t offset, bytes;
  const char* name;
};
struct Block {
  uint3 index{};
  uint32_t linear = 0, serial = 0, gen = 1;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  Barrier barriers[BARRIERS];
  char* arena = nullptr;
  uint8_t* state = nullptr;  // of each byte of the arena, shadow.hpp
  struct Cell* cells = nullptr;
  std::vector<Placed> placed;
  std::map<uintptr_t, Phased> objects;  // barriers by address
  size_t used = 0, static_bytes = 0;
  unsigned done = 0, at_grid = 0;
  bool fenced = false;   // somebody fenced in this generation
  uint32_t published = 0;  // generations below this one may be released by any thread
  Knowledge knows;
  bool somebody_knows = false;
};
struct Launch {
  const Config* config;
  Body body;
  void* arguments;
  unsigned n = 0;  // threads a block
  uint32_t total = 0, first_serial = 0;
  unsigned at_grid = 0;
  std::vector<std::unique_ptr<Block>> live;
};
struct Machine {
  Launch* launch = nullptr;
  Thread* thread = nullptr;  // who runs; null while the host does
  Block* block = nullptr;
  void* scheduler = nullptr;
  std::string report;
  uint32_t next_serial = 1;
  bool stop = false;
  uint64_t changes = 0;  // of memory, by plain stores and by atomics that wrote something new
  bool hopeless = false;  // all threads that are left spin, and nothing changes: the next one to spin says so
  const volatile void* watched = nullptr;  // what the last atomic was called for, and what it held before
  unsigned watched_bytes = 0;
  uint64_t watched_was = 0;
};
extern Machine machine;

// fibers.cpp
char* take_stack();
void give_stack(char*);
void resume(Thread&);
void leave();  // to the scheduler; returns when resumed
// grid.cpp
void wake(Thread&);
void wait_here(Wait, Site);
// barriers.cpp
void release(Block&, int id);
void thread_left_barriers(Block&);
// warps.cpp
void thread_left_warp(Thread&);
bool name_active_lanes(Block&);
void explain_masks(Block&);
// copies.cpp
void forget_copies(Thread&);
void land(std::vector<Copy>&, bool by_this_thread);
// shadow.cpp
void settle(Thread&);
// report.cpp
[[noreturn]] void fault(const char* kind, const std::string& text);
std::string here(const Thread&);
std::string at(Site);
std::string at_pc(uint32_t);
std::string at_call(uint32_t);
uint32_t offset_of(void* pc);
std::string format(const char*, ...) __attribute__((format(printf, 1, 2)));
}  // namespace kwemu
