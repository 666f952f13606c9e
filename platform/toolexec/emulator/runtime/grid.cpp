/* The order in which blocks and threads run, and what a standstill means.
 *
 * One block runs until all its threads are done. Only where its threads wait for the grid, or for another block by
 * spinning, the next one begins beside it. The order depends on nothing but the launch. */
#include "machine.hpp"
#include "shadow.hpp"

namespace kwemu {
namespace {
constexpr int SPINS_BEFORE_NEXT = 4;  // rounds in which a block only spun
constexpr int TURNS_BEFORE_GIVING_UP = 256;  // of all blocks, in which nobody did anything but spin
enum class Ended { DONE, AT_GRID, SPINNING };

std::unique_ptr<Block> make_block(Launch& l, uint32_t linear) {
  auto b = std::make_unique<Block>();
  dim3 g = l.config->grid, s = l.config->block;
  b->linear = linear;
  b->index = {linear % g.x, linear / g.x % g.y, linear / g.x / g.y};
  b->serial = l.first_serial + linear;
  b->threads.resize(l.n);
  b->warps.resize((l.n + WARP - 1) / WARP);
  for (unsigned i = 0; i < l.n; i++) {
    Thread& t = b->threads[i];
    t.block = b.get();
    t.now = Now{{i % s.x, i / s.x % s.y, i / s.x / s.y}, b->index, s, g, i, i % WARP};
    b->warps[i / WARP].alive |= 1u << (i % WARP);
  }
  take_arena(*b, l.config->shared);
  return b;
}

void drop_block(Block& b) {
  for (Thread& t : b.threads)
    if (t.stack) give_stack(t.stack);
  for (Warp& w : b.warps)
    for (Meeting* m : w.open) delete m;
  give_arena(b);
}

void after_run(Thread& t) {
  if (t.state != State::DONE || machine.stop) return;
  give_stack(t.stack);
  t.stack = nullptr;
  forget_copies(t);
  thread_left_warp(t);
  thread_left_barriers(*t.block);
}

[[noreturn]] void explain_standstill(Block& b) {
  const Thread *ended = nullptr, *waits = nullptr, *other = nullptr;

  for (Thread& t : b.threads) {
    if (t.state == State::DONE) ended = ended ? ended : &t;
    if (t.state != State::WAITING) continue;
    if (!waits) waits = &t;
    else if (!other && (t.wait != waits->wait || t.site.line != waits->site.line)) other = &t;
  }
  auto what = [](const Thread& t) {
    const char* names[] = {"nothing", "a barrier", "the grid's barrier", "a warp primitive", "active lanes", "a barrier in memory"};
    std::string mask = t.wait == Wait::WARP_MEETING ? format(" (mask 0x%08x)", t.held->mask) : "";
    return std::string(names[int(t.wait)]) + mask + " at " + at(t.site);
  };
  explain_masks(b);
  bool warp = waits->wait == Wait::WARP_MEETING || (other && other->wait == Wait::WARP_MEETING);
  if (other && warp)
    fault("deadlock", here(*waits) + " waits for " + what(*waits) + ", " + here(*other) + " for " + what(*other) +
                          ": a mask names lanes that do not come");
  if (other)
    fault("deadlock", here(*waits) + " waits for " + what(*waits) + ", " + here(*other) + " for " + what(*other));
  const Barrier& bar = b.barriers[waits->barrier];
  if (waits->wait == Wait::BARRIER && bar.counted)
    fault("deadlock", here(*waits) + " waits for " + what(*waits) + format(": barrier %d is for %u threads, of which %u come", waits->barrier, bar.expected ? bar.expected : unsigned(b.threads.size()), bar.arrived));
  if (waits->wait == Wait::BARRIER && ended)
    fault("barrier divergence", here(*waits) + " waits for " + what(*waits) + ", which " + here(*ended) +
                                    " did not reach before it ended");
  fault("deadlock", here(*waits) + " waits for " + what(*waits) + " for ever");
}

/* Do all of a block's threads wait for the grid? */
bool waits_for_grid(Block& b) {
  if (!b.at_grid || b.at_grid + b.done != b.threads.size()) return false;
  if (!b.done || !CHECKED) return true;
  const Thread *waits = nullptr, *ended = nullptr;
  for (Thread& t : b.threads) (t.state == State::DONE ? ended : waits) = &t;
  fault("barrier divergence", here(*waits) + " waits for the grid's barrier at " + at(waits->site) + ", which " + here(*ended) + " did not reach before it ended");
}

Ended run_block(Block& b) {
  for (int spun = 0;;) {
    bool ran = false, progress = false;
    for (Thread& t : b.threads) {
      if (t.state != State::READY) continue;
      ran = true;
      t.atomics = 0;
      resume(t);
      progress |= t.state != State::READY;
      if (machine.stop) return Ended::DONE;
      after_run(t);
    }
    if (ran && progress) spun = 0;
    if (ran && !progress && ++spun >= SPINS_BEFORE_NEXT) return Ended::SPINNING;
    if (ran || name_active_lanes(b)) continue;
    if (b.done == b.threads.size()) return Ended::DONE;
    try {
      if (waits_for_grid(b)) return Ended::AT_GRID;
      explain_standstill(b);
    } catch (const std::string&) {
      return Ended::DONE;
    }
  }
}

bool too_large(const Config& c, std::string& why) {
  uint64_t n = uint64_t(c.block.x) * c.block.y * c.block.z;
  if (n == 0 || n > MAX_THREADS || c.block.z > 64) why = format("block (%u,%u,%u): 1 to 1024 threads", c.block.x, c.block.y, c.block.z);
  else if (!c.grid.x || !c.grid.y || !c.grid.z || c.grid.x > 0x7fffffffu || c.grid.y > 65535 || c.grid.z > 65535)
    why = format("grid (%u,%u,%u): no GPU takes it", c.grid.x, c.grid.y, c.grid.z);
  else if (c.shared > SHARED_LIMIT) why = format("%zu bytes of dynamic shared memory: at most %zu", c.shared, SHARED_LIMIT);
  else if (c.shared > allowed_shared(c))
    why = format("%zu bytes of dynamic shared memory: more than %zu only after cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes)", c.shared, STATIC_SHARED_LIMIT);
  return !why.empty();
}

/* All blocks have begun, and none of them does anything but spin for long: nobody is left to change that. */
struct Spinning {
  uint64_t changes = 0;
  int turns = 0;
  bool for_ever(bool round) {
    if (changes != machine.changes) changes = machine.changes, turns = 0;
    else if (round && ++turns > TURNS_BEFORE_GIVING_UP) return true;
    return false;
  }
};

/* A grid's barrier is for all blocks: those that have ended do not come. */
[[noreturn]] void grid_is_short(Launch& l, Block& b) {
  const Thread* waits = nullptr;
  for (Thread& t : b.threads)
    if (t.state == State::WAITING) waits = &t;
  fault("deadlock", here(*waits) + " waits for the grid's barrier at " + at(waits->site) + format(", which %zu of %u blocks did not reach before they ended", size_t(l.total) - l.live.size(), l.total));
}

void run_all(Launch& l) {
  uint32_t next = 0;
  size_t turn = 0, ended = 0;
  Spinning idle;
  while (!machine.stop && (next < l.total || !l.live.empty())) {
    if (turn >= l.live.size() && next < l.total) l.live.push_back(make_block(l, next++));
    if (turn >= l.live.size()) turn = 0;
    Block& b = *l.live[turn];
    bool at_grid = b.at_grid && b.at_grid + b.done == b.threads.size();
    Ended how = at_grid ? Ended::AT_GRID : run_block(b);
    if (machine.stop) break;
    if (how == Ended::DONE) {
      ended++;
      drop_block(b);
      l.live.erase(l.live.begin() + long(turn));
      continue;
    }
    turn++;
    if (CHECKED && next == l.total && idle.for_ever(turn == l.live.size())) machine.hopeless = true;
    if (how == Ended::AT_GRID && next == l.total) {
      if (ended) grid_is_short(l, b);
      bool all = true;
      for (auto& o : l.live) all &= o->at_grid + o->done == o->threads.size() && o->at_grid;
      if (!all) continue;
      order_grid(l);
      machine.changes++;
      for (auto& o : l.live) {
        o->at_grid = 0;
        for (Thread& t : o->threads)
          if (t.state == State::WAITING) wake(t);
      }
    }
  }
  for (auto& b : l.live) drop_block(*b);
}
}  // namespace

void wake(Thread& t) {
  t.state = State::READY;
  t.wait = Wait::NOTHING;
  machine.changes++;
}

void wait_here(Wait what, Site site) {
  Thread& t = *machine.thread;
  t.state = State::WAITING;
  t.wait = what;
  t.site = site;
  machine.changes++;
  leave();
}
}  // namespace kwemu

extern "C" {
void kwemu_run(const kwemu::Config* config, kwemu::Body body, void* arguments) {
  using namespace kwemu;
  if (machine.thread) fault("unsupported", here(*machine.thread) + " launches a kernel at " + at(config->site) + ": dynamic parallelism cannot be emulated");
  if (!machine.report.empty()) return;  // a failed launch leaves a device that runs nothing more
  Launch l{};
  l.config = config;
  l.body = body;
  l.arguments = arguments;
  machine.launch = &l;
  machine.stop = machine.hopeless = false;
  machine.watched = nullptr;
  try {
    std::string why;
    if (too_large(*config, why)) fault("launch", why + " at " + at(config->site));
    l.n = config->block.x * config->block.y * config->block.z;
    uint64_t total = uint64_t(config->grid.x) * config->grid.y * config->grid.z;
    if (total > 1u << 28) fault("launch", format("%llu blocks are more than can be emulated", (unsigned long long)total));
    l.total = uint32_t(total);
    l.first_serial = machine.next_serial;
    machine.next_serial += l.total;
    run_all(l);
  } catch (const std::string&) {
    for (auto& b : l.live) drop_block(*b);
  }
  machine.launch = nullptr;
  machine.block = nullptr;
}
void kwemu_pause(void) {
  using namespace kwemu;
  if (!machine.thread) return;
  if (machine.hopeless) fault("deadlock", here(*machine.thread) + " sleeps for ever");
  leave();
}
unsigned long long kwemu_clock(void) {
  static unsigned long long ticks;
  kwemu::machine.changes++;  // time passes: who waits for it does not wait for ever
  return ticks += 16;
}
}
