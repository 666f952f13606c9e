/* Objects of memory: tensors, allocations, device variables, and the shared memory of a block. */
#include <link.h>
#include <sys/mman.h>
#include <algorithm>
#include "shadow.hpp"

namespace kwemu {
namespace {
std::vector<Object> objects;  // sorted by address
size_t last;

struct Variable {  // with room before and after it
  uintptr_t low, high;
  size_t room;
  const char* name;
};
std::vector<Variable>& variables() {
  static std::vector<Variable> all;
  return all;
}

struct Arena {
  char* bytes;
  uint8_t* state;
  Cell* cells;
};
std::vector<Arena> spare_arenas;

void* fresh(size_t bytes) {
  void* p = mmap(nullptr, bytes ? bytes : 1, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (p == MAP_FAILED) fault("launch", "no memory for the emulator");
  return p;
}
std::map<std::string, size_t> asked_for;  // by host code, of dynamic shared memory for a kernel
size_t granules(const Object& o) { return (o.high - (o.low & ~uintptr_t(3)) + 3) / 4; }
}  // namespace

void take_arena(Block& b, size_t dynamic_bytes) {
  if (spare_arenas.empty()) {
    Arena made{static_cast<char*>(fresh(ARENA_BYTES)), static_cast<uint8_t*>(fresh(ARENA_BYTES)),
               CHECKED ? static_cast<Cell*>(fresh(ARENA_BYTES / 4 * sizeof(Cell))) : nullptr};
    spare_arenas.push_back(made);
  }
  Arena a = spare_arenas.back();
  spare_arenas.pop_back();
  b.arena = a.bytes;
  b.state = a.state;
  b.cells = a.cells;
  b.used = DYNAMIC_OFFSET + REDZONE + ((dynamic_bytes + REDZONE - 1) & ~(REDZONE - 1));
  if (CHECKED) memset(b.state + DYNAMIC_OFFSET, UNWRITTEN, dynamic_bytes);
  memset(b.arena + DYNAMIC_OFFSET, 0xcb, dynamic_bytes);  // what a block finds is nobody's zeros
}

void give_arena(Block& b) {
  if (CHECKED) memset(b.state, NOWHERE, std::min(b.used, ARENA_BYTES));
  spare_arenas.push_back(Arena{b.arena, b.state, b.cells});
}

Object* object_of(uintptr_t a) {
  if (last < objects.size() && a >= objects[last].low && a < objects[last].high) return &objects[last];
  auto after = std::upper_bound(objects.begin(), objects.end(), a, [](uintptr_t x, const Object& o) { return x < o.low; });
  if (after == objects.begin()) return nullptr;
  --after;
  if (a >= after->high) return nullptr;
  last = size_t(after - objects.begin());
  return &*after;
}

Cell* cell_of(uintptr_t a) {
  Block* b = machine.block;
  if (b && a - uintptr_t(b->arena) < ARENA_BYTES) return b->cells + (a - uintptr_t(b->arena)) / 4;
  Object* o = object_of(a);
  return o ? o->cells + (a - (o->low & ~uintptr_t(3))) / 4 : nullptr;
}

void remove_object(const void* p) {
  uintptr_t a = uintptr_t(p);
  for (size_t i = 0; i < objects.size(); i++)
    if (objects[i].low == a) {
      munmap(objects[i].state, objects[i].high - a + 8);
      munmap(objects[i].cells, granules(objects[i]) * sizeof(Cell));
      objects.erase(objects.begin() + long(i));
      last = 0;
      return;
    }
}

void add_object(const void* p, size_t bytes, const char* name, bool written) {
  uintptr_t a = uintptr_t(p);
  if (!CHECKED || !a || !bytes) return;
  for (const Object& o : objects)  // what lay here before is gone
    if (o.low < a + bytes && a < o.high) {
      if (o.low == a && o.high == a + bytes) {
        memset(o.state, written ? WRITTEN : UNWRITTEN, bytes);
        return;
      }
      remove_object(reinterpret_cast<void*>(o.low));
      return add_object(p, bytes, name, written);
    }
  Object o{a, a + bytes, name, static_cast<uint8_t*>(fresh(bytes + 8)), nullptr, false};
  memset(o.state, written ? WRITTEN : UNWRITTEN, bytes);
  o.cells = static_cast<Cell*>(fresh(granules(o) * sizeof(Cell)));
  objects.insert(std::upper_bound(objects.begin(), objects.end(), a, [](uintptr_t x, const Object& y) { return x < y.low; }), o);
  last = 0;
}

void mark_written(const void* p, size_t bytes) {
  for (size_t i = 0; i < bytes && CHECKED;) {
    uintptr_t a = uintptr_t(p) + i;
    Object* o = object_of(a);
    if (!o) return;
    size_t n = std::min(bytes - i, size_t(o->high - a));
    memset(o->state + (a - o->low), WRITTEN, n);
    i += n;
  }
}

void add_device_variables() {
  static bool done;
  if (done || !CHECKED) return;
  done = true;
  dl_iterate_phdr(
      [](dl_phdr_info* info, size_t, void*) {
        uintptr_t me = uintptr_t(&kwemu_now);
        bool mine = false;
        for (int i = 0; i < info->dlpi_phnum; i++) {
          auto& h = info->dlpi_phdr[i];
          if (h.p_type == PT_LOAD && me >= info->dlpi_addr + h.p_vaddr && me < info->dlpi_addr + h.p_vaddr + h.p_memsz) mine = true;
        }
        for (int i = 0; mine && i < info->dlpi_phnum; i++) {
          auto& h = info->dlpi_phdr[i];
          if (h.p_type == PT_LOAD) add_object(reinterpret_cast<void*>(info->dlpi_addr + h.p_vaddr), h.p_memsz, "device variables", true);
        }
        return int(mine);
      },
      nullptr);
  for (const Variable& v : variables())
    if (Object* o = object_of(v.low)) {
      memset(o->state + (v.low - v.room - o->low), NOWHERE, v.room);
      memset(o->state + (v.high - o->low), NOWHERE, v.room);
    }
}

size_t allowed_shared(const Config& c) {
  if (!c.by_host) return SHARED_LIMIT;
  size_t asked = 0;
  auto own = asked_for.find(c.name);
  if (own != asked_for.end()) asked = own->second;
  else
    for (auto& [name, bytes] : asked_for) asked = std::max(asked, bytes);  // perhaps by another name of the same kernel
  return asked && asked >= c.shared ? SHARED_LIMIT : STATIC_SHARED_LIMIT;
}

std::string place_of(uintptr_t a, bool& shared) {
  Block* b = machine.block;
  uintptr_t base = b ? uintptr_t(b->arena) : 0;
  shared = b && a >= base && a < base + ARENA_BYTES;
  if (shared) {
    long offset = long(a - base), best = LONG_MAX;
    size_t dynamic = machine.launch->config->shared;
    std::string found = "shared memory of which the launch asks for none";
    auto consider = [&](const char* name, long from, long bytes) {
      long past = offset < from ? from - offset : offset >= from + bytes ? offset - from - bytes + 1 : 0;
      if (past >= best) return;
      best = past;
      if (offset < from) found = format("%ld bytes before shared memory %s (%ld bytes)", from - offset, name, bytes);
      else if (past) found = format("%ld bytes past the end of shared memory %s (%ld bytes)", offset - from - bytes, name, bytes);
      else found = format("shared memory %s + %ld", name, offset - from);
    };
    if (dynamic) consider("of the launch", long(DYNAMIC_OFFSET), long(dynamic));
    for (const Placed& p : b->placed) consider(p.name, long(p.offset), long(p.bytes));
    return found;
  }
  for (const Variable& v : variables()) {
    if (a < v.low - v.room || a >= v.high + v.room) continue;
    if (a < v.low) return format("%lu bytes before %s (%lu bytes)", (unsigned long)(v.low - a), v.name, (unsigned long)(v.high - v.low));
    if (a >= v.high) return format("%lu bytes past the end of %s (%lu bytes)", (unsigned long)(a - v.high), v.name, (unsigned long)(v.high - v.low));
    return format("%s + %lu", v.name, (unsigned long)(a - v.low));
  }
  if (Object* o = object_of(a)) return format("%s + %lu", o->name.c_str(), (unsigned long)(a - o->low));
  const Object* near = nullptr;
  auto distance = [a](const Object& o) { return a < o.low ? o.low - a : a - o.high; };
  for (const Object& o : objects)
    if (o.name != "device variables" && (!near || distance(o) < distance(*near))) near = &o;
  if (!near || a < 4096) return format("address 0x%lx", (unsigned long)a);
  if (a < near->low) return format("%lu bytes before %s (%lu bytes)", (unsigned long)(near->low - a), near->name.c_str(), (unsigned long)(near->high - near->low));
  return format("%lu bytes past the end of %s (%lu bytes)", (unsigned long)(a - near->high), near->name.c_str(), (unsigned long)(near->high - near->low));
}
}  // namespace kwemu

extern "C" {
void kwemu_device_variable(const volatile void* value, size_t bytes, size_t room, const char* name) {
  uintptr_t a = uintptr_t(value);
  if (kwemu::CHECKED) kwemu::variables().push_back({a, a + bytes, room, name});
}
void* kwemu_shared_object(const void* tag, size_t bytes, size_t align, const char* name) {
  using namespace kwemu;
  Block& b = *machine.block;
  for (const Placed& p : b.placed)
    if (p.tag == tag) return b.arena + p.offset;
  if (align > REDZONE && align > 1024) fault("launch", format("shared memory %s is aligned to %zu bytes", name, align));
  size_t step = align > REDZONE ? align : REDZONE;
  size_t offset = (b.used + step - 1) & ~(step - 1);
  b.static_bytes += bytes;
  if (b.static_bytes > STATIC_SHARED_LIMIT)
    fault("launch", format("static shared memory grows to %zu bytes with %s: at most %zu, more only as dynamic shared memory", b.static_bytes, name, STATIC_SHARED_LIMIT));
  size_t dynamic = machine.launch->config->shared, limit = allowed_shared(*machine.launch->config);
  if (b.static_bytes + dynamic > limit)
    fault("launch", format("%zu bytes of static shared memory with %s and %zu of the launch: at most %zu together", b.static_bytes, name, dynamic, limit));
  b.placed.push_back(Placed{tag, offset, bytes, name});
  b.used = offset + bytes + REDZONE;
  if (CHECKED) memset(b.state + offset, UNWRITTEN, bytes);
  memset(b.arena + offset, 0xcb, bytes);
  return b.arena + offset;
}
void* kwemu_dynamic_shared(void) { return kwemu::machine.block->arena + kwemu::DYNAMIC_OFFSET; }
size_t kwemu_dynamic_shared_bytes(void) { return kwemu::machine.launch->config->shared; }
KWEMU_HIDDEN void kwemu_allow_shared(const char* kernel, size_t bytes) { kwemu::asked_for[kernel] = bytes; }
int kwemu_is_shared(const void* p) {
  kwemu::Block* b = kwemu::machine.block;
  return b && static_cast<const char*>(p) >= b->arena && static_cast<const char*>(p) < b->arena + kwemu::ARENA_BYTES;
}
unsigned kwemu_shared_offset(const void* p) { return unsigned(static_cast<const char*>(p) - kwemu::machine.block->arena); }
void* kwemu_shared_pointer(unsigned offset) { return kwemu::machine.block->arena + offset; }
}
