/* cp.async: copies that land when their thread waits for them, and not a moment before. */
#include "shadow.hpp"

namespace kwemu {
namespace {
uint8_t* state_of(char* to) {
  if (kwemu_is_shared(to)) return machine.block->state + (to - machine.block->arena);
  Object* o = object_of(uintptr_t(to));
  return o ? o->state + (uintptr_t(to) - o->low) : nullptr;
}
/* Begins a copy: its source is read now, its target may not be touched before it has landed. */
Copy begin(char* to, const char* from, unsigned bytes, unsigned zeros, uint32_t where) {
  if (CHECKED) {
    on_access(uintptr_t(from), bytes, false, PLAIN, where);
    if (!kwemu_is_shared(to)) fault("out of bounds", here(*machine.thread) + " copies by cp.async to what is not shared memory at " + at_call(where));
    uint8_t* state = state_of(to);
    on_access(uintptr_t(to), bytes + zeros, true, PLAIN, where);
    for (unsigned i = 0; i < bytes + zeros; i++) state[i] |= PENDING;
  }
  return Copy{to, from, bytes, zeros, where};
}
}  // namespace

/* The copies are there. Those of a barrier in memory were this thread's, or another's who arrived. */
void land(std::vector<Copy>& group, bool by_this_thread) {
  for (Copy& c : group) {
    if (CHECKED) {
      uint8_t* state = state_of(c.to);
      for (unsigned i = 0; state && i < c.bytes + c.zeros; i++) state[i] &= uint8_t(~PENDING);
      if (by_this_thread) on_access(uintptr_t(c.to), c.bytes + c.zeros, true, PLAIN, c.pc);
    }
    memcpy(c.to, c.from, c.bytes);
    memset(c.to + c.bytes, 0, c.zeros);
  }
  group.clear();
}

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
  t.open_copies.push_back(begin(static_cast<char*>(to), static_cast<const char*>(from), bytes, zeros, where));
}
/* A part of a copy that a group makes together: any size; to a barrier in memory, or to the thread's own group. */
void kwemu_copy_group(void* to, const void* from, unsigned bytes, const void* barrier, void* pc) {
  using namespace kwemu;
  Thread& t = *machine.thread;
  uint32_t where = offset_of(pc);
  if (!kwemu_is_shared(to) || kwemu_is_shared(from)) {  // only from global to shared memory does it go its own way
    if (CHECKED) on_access(uintptr_t(from), bytes, false, PLAIN, where);
    if (CHECKED) on_access(uintptr_t(to), bytes, true, PLAIN, where);
    memcpy(to, from, bytes);
    return;
  }
  Copy copy = begin(static_cast<char*>(to), static_cast<const char*>(from), bytes, 0, where);
  (barrier ? t.block->objects[uintptr_t(barrier)].copies : t.open_copies).push_back(copy);
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
    kwemu::land(t.groups.front(), true);
    t.groups.pop_front();
  }
}
}
