/* Barriers of a block and of a grid. Owns who is waited for. */
#include "machine.hpp"
#include "shadow.hpp"

namespace kwemu {
namespace {
unsigned wanted(const Block& b, const Barrier& bar) {
  if (bar.expected) return bar.expected;
  return unsigned(b.threads.size()) - (CHECKED ? 0 : b.done);  // hardware passes over threads that have ended
}

void arrive(Block& b, int id, int threads, int predicate, Site site) {
  Thread& t = *machine.thread;
  settle(t);
  if (id < 0 || id >= int(BARRIERS)) fault("launch", format("barrier %d at ", id) + at(site) + ": there are 16");
  if (threads < 0 || threads % int(WARP)) fault("launch", format("a barrier of %d threads at ", threads) + at(site) + ": not a multiple of 32");
  Barrier& bar = b.barriers[id];
  unsigned expected = unsigned(threads) == b.threads.size() ? 0 : unsigned(threads);
  if (bar.arrived && bar.expected != expected)
    fault("deadlock", format("barrier %d is for %u threads at ", id, expected) + at(site) + format(" and for %u at ", bar.expected) + at(bar.site) + ", " + here(t));
  bool apart = bar.arrived && (bar.site.line != site.line || strcmp(bar.site.file, site.file));
  if (CHECKED && apart && !id && !expected)
    fault("barrier divergence", here(t) + " is at " + at(site) + " while " + here(b.threads[bar.first]) + " waits at " + at(bar.site));
  if (!bar.arrived) {
    bar.site = site;
    bar.first = t.now.rank;
    bar.expected = expected;
    bar.counted = threads != 0;
  }
  bar.arrived++;
  bar.count += predicate;
  bar.who.push_back(t.now.rank);
}
}  // namespace

void release(Block& b, int id) {
  Barrier& bar = b.barriers[id];
  int count = bar.count;
  if (CHECKED) {
    if (bar.arrived == b.threads.size()) order_block(b);
    else order_some(b, bar.who);
  }
  for (unsigned r : bar.who) {
    Thread& t = b.threads[r];
    t.result = count;
    if (t.state == State::WAITING && t.wait == Wait::BARRIER && t.barrier == id) wake(t);
  }
  bar.arrived = bar.expected = bar.first = 0;
  bar.count = 0;
  bar.who.clear();  // its memory stays
}

void thread_left_barriers(Block& b) {
  if (CHECKED) return;
  for (unsigned id = 0; id < BARRIERS; id++)
    if (b.barriers[id].arrived && b.barriers[id].arrived >= wanted(b, b.barriers[id])) release(b, int(id));
}
}  // namespace kwemu

extern "C" {
int kwemu_barrier(int id, int threads, int predicate, int reduction, int line, const char* file) {
  using namespace kwemu;
  Thread& t = *machine.thread;
  Block& b = *t.block;
  Site site{file, line};
  arrive(b, id, threads, predicate, site);
  unsigned all = b.barriers[id].arrived;
  if (all >= wanted(b, b.barriers[id])) {
    release(b, id);
  } else {
    t.barrier = id;
    wait_here(Wait::BARRIER, site);
  }
  int n = threads ? threads : int(b.threads.size());
  if (reduction == BARRIER_AND) return t.result == n - (CHECKED ? 0 : int(b.done));
  if (reduction == BARRIER_OR) return t.result != 0;
  return t.result;
}
void kwemu_barrier_arrive(int id, int threads, int line, const char* file) {
  using namespace kwemu;
  Block& b = *machine.thread->block;
  arrive(b, id, threads, 0, Site{file, line});
  if (b.barriers[id].arrived >= wanted(b, b.barriers[id])) release(b, id);
}
void kwemu_grid_barrier(int line, const char* file) {
  using namespace kwemu;
  if (!machine.launch->config->cooperative)
    fault("launch", "a grid's barrier at " + at(Site{file, line}) + " in a kernel that was not launched by cudaLaunchCooperativeKernel, " + here(*machine.thread));
  settle(*machine.thread);
  machine.block->at_grid++;
  wait_here(Wait::GRID, Site{file, line});
}
}
