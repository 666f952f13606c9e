/* Barriers that lie in shared memory, as cuda::barrier: threads arrive at a phase, and wait for it to pass. */
#include <algorithm>
#include "shadow.hpp"

namespace kwemu {
namespace {
Phased& barrier_at(void* p, bool needed, Site site) {
  Block& b = *machine.block;
  auto found = b.objects.find(uintptr_t(p));
  if (found == b.objects.end() || (needed && !found->second.expected && !found->second.next_expected))
    fault("uninitialised", here(*machine.thread) + " uses a barrier in memory at " + at(site) + " which nothing has initialised so far");
  return found->second;
}

void pass(Block& b, uintptr_t address, Phased& m) {
  if (m.pending) return;
  land(m.copies, false);
  m.past.swap(m.clocks);
  m.past_gen = m.gen;
  m.clocks.clear();
  m.phase++;
  m.expected = m.pending = m.next_expected;
  for (Thread& t : b.threads)
    if (t.state == State::WAITING && t.wait == Wait::OBJECT && t.waits_for == address) wake(t);
}
}  // namespace
}  // namespace kwemu

extern "C" {
void kwemu_object_init(void* p, unsigned expected, void* pc) {
  using namespace kwemu;
  if (CHECKED) on_access(uintptr_t(p), 8, true, PLAIN, offset_of(pc));
  Phased& m = machine.block->objects[uintptr_t(p)];
  m = Phased{};
  m.expected = m.next_expected = m.pending = expected;
}
/* The barrier of a whole block that threads arrive at and wait for apart: in no memory of the kernel's. */
void* kwemu_block_object(void) {
  kwemu::Block& b = *kwemu::machine.block;
  kwemu::Phased& m = b.objects[uintptr_t(&b)];
  if (!m.expected) m.expected = m.next_expected = m.pending = unsigned(b.threads.size());
  return &b;
}
unsigned kwemu_object_arrive(void* p, unsigned count, int drop, int line, const char* file) {
  using namespace kwemu;
  Thread& t = *machine.thread;
  Site site{file, line};
  Phased& m = barrier_at(p, true, site);
  if (CHECKED && p != machine.block) on_access(uintptr_t(p), 8, false, ATOMIC, offset_of(KWEMU_PC));
  if (count > m.pending || !count)
    fault("deadlock", here(t) + format(" arrives %u times at a barrier in memory at ", count) + at(site) + format(", which expects %u more of %u in this phase", m.pending, m.expected));
  if (CHECKED) order_arrival(m, t);
  machine.changes++;
  unsigned phase = m.phase;
  if (drop) m.next_expected--;
  m.pending -= count;
  pass(*t.block, uintptr_t(p), m);
  return phase;
}
int kwemu_object_passed(void* p, unsigned phase, int line, const char* file) {
  using namespace kwemu;
  Thread& t = *machine.thread;
  Phased& m = barrier_at(p, false, Site{file, line});
  bool passed = ((m.phase ^ phase) & 1) != 0;
  if (CHECKED && passed) order_passing(m, t);
  if (!passed && ++t.atomics >= 64) kwemu_pause();
  return passed;
}
void kwemu_object_wait(void* p, unsigned phase, int line, const char* file) {
  using namespace kwemu;
  Thread& t = *machine.thread;
  Phased& m = barrier_at(p, false, Site{file, line});
  if (CHECKED && p != machine.block) on_access(uintptr_t(p), 8, false, ATOMIC, offset_of(KWEMU_PC));
  while (!((m.phase ^ phase) & 1)) {  // as hardware, by the phase's parity
    t.waits_for = uintptr_t(p);
    wait_here(Wait::OBJECT, Site{file, line});
  }
  if (CHECKED) order_passing(m, t);
}
}
