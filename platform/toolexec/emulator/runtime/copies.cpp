/* cp.async: copies that land when their thread waits for them, and not a moment before. */
#include "shadow.hpp"

namespace kwemu {
namespace {
uint8_t* state_of(char* to) {
  if (kwemu_is_shared(to)) return machine.block->state + (to - machine.block->arena);
  Object* o = object_of(uintptr_t(to));
  return o ? o->state + (uintptr_t(to) - o->low) : nullptr;
}
void land(std::vector<Copy>& group) {
  for (Copy& c : group) {
    if (CHECKED) {
      uint8_t* state = state_of(c.to);
      for (unsigned i = 0; state && i < c.bytes + c.zeros; i++) state[i] &= uint8_t(~PENDING);
      on_access(uintptr_t(c.to), c.bytes + c.zeros, true, PLAIN, c.pc);
    }
    memcpy(c.to, c.from, c.bytes);
    memset(c.to + c.bytes, 0, c.zeros);
  }
}
}  // namespace

void forget_copies(Thread& t) {
  t.open_copies.clear();
  t.groups.clear();
}
}  // namespace kwemu

extern "C" {
void kwemu_copy_async(void* to, const void* from, unsigned bytes, unsigned zeros, void* pc) {
  using namespace kwemu;
  Thread& t = *machine.thread;
  unsigned all = bytes + zeros;
  uint32_t where = offset_of(pc);
  if (all != 4 && all != 8 && all != 16) fault("launch", format("a cp.async of %u bytes at ", all) + at_call(where));
  if ((uintptr_t(to) | (bytes ? uintptr_t(from) : 0)) & (all - 1))
    fault("misaligned", here(t) + format(" copies %u bytes by cp.async between addresses that are no multiples of it at ", all) + at_call(where));
  if (CHECKED) {
    on_access(uintptr_t(from), bytes, false, PLAIN, where);
    if (!kwemu_is_shared(to)) fault("out of bounds", here(t) + " copies by cp.async to what is not shared memory at " + at_call(where));
    uint8_t* state = state_of(static_cast<char*>(to));
    on_access(uintptr_t(to), all, true, PLAIN, where);
    for (unsigned i = 0; i < all; i++) state[i] |= PENDING;
  }
  t.open_copies.push_back(Copy{static_cast<char*>(to), static_cast<const char*>(from), bytes, zeros, where});
}
void kwemu_copy_commit(void) {
  kwemu::Thread& t = *kwemu::machine.thread;
  t.groups.push_back(std::move(t.open_copies));
  t.open_copies.clear();
}
void kwemu_copy_wait(int groups_left) {
  kwemu::Thread& t = *kwemu::machine.thread;
  if (groups_left < 0) {
    kwemu_copy_commit();
    groups_left = 0;
  }
  while (t.groups.size() > size_t(groups_left)) {
    kwemu::land(t.groups.front());
    t.groups.pop_front();
  }
}
}
