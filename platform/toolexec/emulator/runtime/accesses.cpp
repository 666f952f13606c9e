/* The compiler's instrumentation and the headers' own accesses arrive here.
 *
 * Owns which accesses are asked about: those of CUDA threads, outside their own stacks. What the host does is its own. */
#include <algorithm>
#include "shadow.hpp"

namespace kwemu {
namespace {
const char* verb(bool write) { return write ? "writes" : "reads"; }

[[noreturn]] void outside(uintptr_t a, size_t bytes, bool write, uint32_t pc) {
  bool shared;
  std::string place = place_of(a, shared);
  fault("out of bounds", here(*machine.thread) + format(" %s %zu bytes at ", verb(write), bytes) + place + " at " + at_call(pc));
}

[[noreturn]] void bad_state(uintptr_t a, size_t bytes, bool write, uint8_t* state, uint32_t pc) {
  uintptr_t first = a;
  size_t i = 0;
  for (; i < bytes; i++)
    if (state[i] == NOWHERE || state[i] & PENDING || (!write && state[i] != WRITTEN)) break;
  first += i;
  if (state[i] == NOWHERE) outside(a, bytes, write, pc);
  bool shared;
  std::string place = place_of(first, shared);
  if (state[i] & PENDING)
    fault("pending copy", here(*machine.thread) + format(" %s ", verb(write)) + place + " at " + at_call(pc) + ", where a cp.async is under way that nobody has waited for");
  fault("uninitialised", here(*machine.thread) + " reads " + place + " at " + at_call(pc) + ", which nothing has written so far" +
                              (shared ? "; is a barrier missing before it?" : ""));
}

void check(uintptr_t base, uint8_t* states, Cell* cells, uintptr_t a, size_t bytes, bool write, Atomic atomic, uint32_t pc, bool near) {
  uint8_t* state = states + (a - base);
  Thread& t = *machine.thread;
  bool fine = true;
  uint32_t four;
  if (!write && bytes == 4 && (memcpy(&four, state, 4), four == 0x01010101u * WRITTEN)) {  // most of all
  } else if (write) {
    for (size_t i = 0; i < bytes; i++) fine &= state[i] == UNWRITTEN || state[i] == WRITTEN;
    for (size_t i = 0; i < bytes && atomic == UPDATE; i++) fine &= state[i] == WRITTEN;
    if (!fine) bad_state(a, bytes, atomic != UPDATE, state, pc);
    memset(state, WRITTEN, bytes);
    machine.changes += atomic == PLAIN;
  } else {
    for (size_t i = 0; i < bytes; i++) fine &= state[i] == WRITTEN;
    if (!fine) bad_state(a, bytes, false, state, pc);
  }
  uintptr_t bottom = base & ~uintptr_t(3);
  Use use = atomic == PLAIN ? PLAINLY : near ? NEARLY : ATOMICALLY;
  for (uintptr_t at = a; at < a + bytes;) {
    unsigned skip = unsigned(at & 3), n = unsigned(std::min<uintptr_t>(4 - skip, a + bytes - at));
    note(cells[(at - bottom) / 4], t, ((1u << n) - 1) << skip, write, use, pc, at, base == uintptr_t(machine.block->arena));
    at += n;
  }
}
}  // namespace

void on_access(uintptr_t a, size_t bytes, bool write, Atomic atomic, uint32_t pc, bool near) {
  Thread* t = machine.thread;
  if (!t || !bytes) return;
  Block& b = *t->block;
  if (a - uintptr_t(t->stack) < STACK_BYTES) return;
  if (!write && atomic == PLAIN) t->reads[t->next_read++ & 3] = a;
  else settle(*t);
  uintptr_t arena = uintptr_t(b.arena);
  if (a - arena < ARENA_BYTES) {
    if (a + bytes > arena + ARENA_BYTES) outside(a, bytes, write, pc);
    return check(arena, b.state, b.cells, a, bytes, write, atomic, pc, near);
  }
  Object* o = object_of(a);
  if (!o || a + bytes > o->high) outside(a, bytes, write, pc);
  check(o->low, o->state, o->cells, a, bytes, write, atomic, pc, near);
}

/* Before an atomic or a volatile access: others run from time to time, and it is seen whether anything changes. */
static void spin(Thread& t, const volatile void* a, size_t bytes, bool write, void* pc) {
  if (machine.watched && write) {
    uint64_t now = 0;
    memcpy(&now, const_cast<const void*>(machine.watched), machine.watched_bytes);
    machine.changes += now != machine.watched_was;
    machine.watched = nullptr;
  }
  if (++t.atomics >= 64) {
    if (machine.hopeless) {
      const Thread* waits = nullptr;
      for (auto& b : machine.launch->live)
        for (Thread& o : b->threads)
          if (o.state == State::WAITING && !waits) waits = &o;
      bool shared;
      fault("deadlock", here(t) + " spins on " + place_of(uintptr_t(a), shared) + " at " + at_call(offset_of(pc)) + ", which nobody changes any more" +
                            (waits ? "; " + here(*waits) + " waits at " + at(waits->site) : ""));
    }
    kwemu_pause();
  }
  if (!write || !object_of(uintptr_t(a)) && !kwemu_is_shared(const_cast<const void*>(a))) return;
  machine.watched = a;
  machine.watched_bytes = unsigned(bytes > 8 ? 8 : bytes);
  machine.watched_was = 0;
  memcpy(&machine.watched_was, const_cast<const void*>(a), machine.watched_bytes);
}
}  // namespace kwemu

using kwemu::machine;
using kwemu::offset_of;
using kwemu::on_access;

extern "C" {
#define SIZE(n)                                                                                                        \
  KWEMU_HIDDEN void __tsan_read##n(void* a) { if (machine.thread) on_access(uintptr_t(a), n, false, kwemu::PLAIN, offset_of(KWEMU_PC)); }                         \
  KWEMU_HIDDEN void __tsan_write##n(void* a) { if (machine.thread) on_access(uintptr_t(a), n, true, kwemu::PLAIN, offset_of(KWEMU_PC)); }                         \
  KWEMU_HIDDEN void __tsan_unaligned_read##n(void* a) { if (machine.thread) on_access(uintptr_t(a), n, false, kwemu::PLAIN, offset_of(KWEMU_PC)); }               \
  KWEMU_HIDDEN void __tsan_unaligned_write##n(void* a) { if (machine.thread) on_access(uintptr_t(a), n, true, kwemu::PLAIN, offset_of(KWEMU_PC)); }               \
  KWEMU_HIDDEN void __tsan_volatile_read##n(void* a) { volatile_access(a, n, false, KWEMU_PC); }                                \
  KWEMU_HIDDEN void __tsan_volatile_write##n(void* a) { volatile_access(a, n, true, KWEMU_PC); }                                \
  KWEMU_HIDDEN void __tsan_unaligned_volatile_read##n(void* a) { volatile_access(a, n, false, KWEMU_PC); }                      \
  KWEMU_HIDDEN void __tsan_unaligned_volatile_write##n(void* a) { volatile_access(a, n, true, KWEMU_PC); }

/* Volatile global memory is how flags were passed before there were atomics: ordered as one. Volatile shared memory is not;
 * only beside others' atomics is reading it no race. */
static void volatile_access(void* a, size_t bytes, bool write, void* pc) {
  if (!machine.thread) return;
  bool flag = !kwemu_is_shared(a) && !(uintptr_t(a) - uintptr_t(machine.thread->stack) < kwemu::STACK_BYTES);
  if (!flag) return on_access(uintptr_t(a), bytes, write, write ? kwemu::PLAIN : kwemu::ATOMIC, offset_of(pc));
  kwemu::spin(*machine.thread, a, bytes, write, pc);  // before: what is read afterwards must be what was ordered
  kwemu::on_access(uintptr_t(a), bytes, write, kwemu::ATOMIC, offset_of(pc));
  kwemu::on_atomic(*machine.thread, uintptr_t(a), write);
}
SIZE(1) SIZE(2) SIZE(4) SIZE(8) SIZE(16)
KWEMU_HIDDEN void __tsan_init(void) {}
KWEMU_HIDDEN void __tsan_func_entry(void*) {}
KWEMU_HIDDEN void __tsan_func_exit(void) {}
KWEMU_HIDDEN void __tsan_vptr_update(void*, void*) {}
KWEMU_HIDDEN void __tsan_vptr_read(void*) {}
KWEMU_HIDDEN void __tsan_read_range(void* a, size_t n) { on_access(uintptr_t(a), n, false, kwemu::PLAIN, offset_of(KWEMU_PC)); }
KWEMU_HIDDEN void __tsan_write_range(void* a, size_t n) { on_access(uintptr_t(a), n, true, kwemu::PLAIN, offset_of(KWEMU_PC)); }
/* clang's words for copies that it does not spell out. */
KWEMU_HIDDEN void* __tsan_memcpy(void* to, const void* from, size_t n) {
  on_access(uintptr_t(from), n, false, kwemu::PLAIN, offset_of(KWEMU_PC));
  on_access(uintptr_t(to), n, true, kwemu::PLAIN, offset_of(KWEMU_PC));
  return memcpy(to, from, n);
}
KWEMU_HIDDEN void* __tsan_memmove(void* to, const void* from, size_t n) {
  on_access(uintptr_t(from), n, false, kwemu::PLAIN, offset_of(KWEMU_PC));
  on_access(uintptr_t(to), n, true, kwemu::PLAIN, offset_of(KWEMU_PC));
  return memmove(to, from, n);
}
KWEMU_HIDDEN void* __tsan_memset(void* to, int v, size_t n) {
  on_access(uintptr_t(to), n, true, kwemu::PLAIN, offset_of(KWEMU_PC));
  return memset(to, v, n);
}

struct Place { const char* file; uint32_t line, column; };
struct Mismatch { Place where; const struct { uint16_t kind, info; char name[1]; }* type; uint8_t log_align, kind; };
KWEMU_HIDDEN void __ubsan_handle_type_mismatch_v1(Mismatch* m, uintptr_t a) {
  using namespace kwemu;
  if (!machine.thread) return;
  unsigned align = 1u << m->log_align;
  if (!(a & (align - 1))) return;
  bool shared;
  // A header's code is told by the kernel's line that called it.
  std::string where = strchr(m->where.file, '/') ? at_call(offset_of(KWEMU_PC)) : at(Site{m->where.file, int(m->where.line)});
  fault("misaligned", here(*machine.thread) + format(" uses %s (%u bytes aligned) at ", m->type->name, align) + place_of(a, shared) + " at " + where);
}

static void misaligned(const volatile void* a, unsigned align, const std::string& where) {
  using namespace kwemu;
  bool shared;
  fault("misaligned", here(*machine.thread) + format(" uses what is to be %u bytes aligned at ", align) + place_of(uintptr_t(a), shared) + " at " + where);
}
void kwemu_misaligned(const volatile void* a, unsigned align, int line, const char* file) {
  if (kwemu::CHECKED && machine.thread) misaligned(a, align, kwemu::at(kwemu::Site{file, line}));
}
void kwemu_misaligned_at(const volatile void* a, unsigned align, void* pc) {
  if (kwemu::CHECKED && machine.thread) misaligned(a, align, kwemu::at_call(offset_of(pc)));
}

void kwemu_atomic(const volatile void* a, unsigned bytes, int writes, int order, void* pc) {
  using namespace kwemu;
  Thread* t = machine.thread;
  if (!t) return;
  if (CHECKED) claim(*t, uintptr_t(a), bytes, writes == 1);
  spin(*t, a, bytes, writes, pc);
  if (!CHECKED) return;
  if (uintptr_t(a) & (bytes - 1)) {
    bool shared;
    fault("misaligned", here(*t) + format(" updates %u bytes atomically at ", bytes) + place_of(uintptr_t(a), shared) + " at " + at_call(offset_of(pc)));
  }
  on_access(uintptr_t(a), bytes, writes, writes == 1 ? UPDATE : ATOMIC, offset_of(pc), order & NEAR);
  if (order & RELEASES) on_fence(*t, order & NEAR, false);
  on_atomic(*t, uintptr_t(a), writes, order & LATE);
}
void kwemu_fence(int scope) {
  if (kwemu::CHECKED && machine.thread) kwemu::on_fence(*machine.thread, scope == 0, true);
}
void kwemu_touch(const volatile void* a, size_t bytes, int writes, void* pc) {
  if (kwemu::CHECKED) on_access(uintptr_t(a), bytes, writes, kwemu::PLAIN, offset_of(pc));
}

/* Atomics of C++, as host code uses them. */
#define KWEMU_CXX_ATOMIC(bits, T)                                                                                                             \
  KWEMU_HIDDEN T __tsan_atomic##bits##_load(const volatile T* p, int) { return *p; }                                                          \
  KWEMU_HIDDEN void __tsan_atomic##bits##_store(volatile T* p, T v, int) { *p = v; }                                                          \
  KWEMU_HIDDEN T __tsan_atomic##bits##_exchange(volatile T* p, T v, int) { T old = *p; *p = v; return old; }                                  \
  KWEMU_HIDDEN T __tsan_atomic##bits##_fetch_add(volatile T* p, T v, int) { T old = *p; *p = T(old + v); return old; }                        \
  KWEMU_HIDDEN T __tsan_atomic##bits##_fetch_sub(volatile T* p, T v, int) { T old = *p; *p = T(old - v); return old; }                        \
  KWEMU_HIDDEN int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* e, T v, int, int) {                                        \
    if (*p == *e) return *p = v, 1;                                                                                                           \
    return *e = *p, 0;                                                                                                                        \
  }
KWEMU_CXX_ATOMIC(8, uint8_t)
KWEMU_CXX_ATOMIC(16, uint16_t)
KWEMU_CXX_ATOMIC(32, uint32_t)
KWEMU_CXX_ATOMIC(64, uint64_t)
KWEMU_HIDDEN void __tsan_atomic_thread_fence(int) {}
#undef KWEMU_CXX_ATOMIC
}
