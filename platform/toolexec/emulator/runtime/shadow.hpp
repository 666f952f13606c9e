/* What the checkers remember of memory, and what orders two uses of it.
 *
 * Order: a block's barrier begins a new generation; uses of older generations are ordered before it. Within one, each
 * thread has a clock, and knows others' clocks from __syncwarp and named barriers. Between blocks of a launch only what
 * was released by a fence and an atomic, and seen through that atomic, is ordered (Knowledge). Serial numbers of blocks
 * grow from launch to launch, so that anything older than the launch's first one is ordered too. */
#pragma once
#include "machine.hpp"

namespace kwemu {
/* State of a byte. */
enum : uint8_t { NOWHERE = 0, UNWRITTEN = 1, WRITTEN = 2, PENDING = 4 };

/* How it was used; NEARLY is an atomic of a block's scope, which is none for another block. */
enum Use : uint8_t { UNUSED, PLAINLY, ATOMICALLY, NEARLY };

struct Slot {  // one use of up to four bytes
  uint32_t block, gen, pc;
  uint32_t thread : 10, clock : 16, mask : 4, use : 2;
};
struct Cell {  // of four bytes
  Slot writes[2], reads[2];
};
struct Object {
  uintptr_t low, high;
  std::string name;
  uint8_t* state;
  Cell* cells;
  bool shared;
};

void take_arena(Block&, size_t dynamic_bytes);
void give_arena(Block&);
Object* object_of(uintptr_t address);
std::string place_of(uintptr_t address, bool& shared);
void add_object(const void* at, size_t bytes, const char* name, bool written);
void remove_object(const void* at);
void mark_written(const void* at, size_t bytes);
void add_device_variables();
size_t allowed_shared(const Config&);  // static and dynamic, a block

void order_block(Block&);
void order_some(Block&, const std::vector<unsigned>& ranks);
void order_lanes(Block&, unsigned warp, unsigned lanes);
void order_grid(Launch&);
void order_arrival(Phased&, Thread&);
void order_passing(Phased&, Thread&);
void on_fence(Thread&, bool near, bool acquires);
void on_atomic(Thread&, uintptr_t address, bool writes, bool late = false);

enum Atomic { PLAIN, ATOMIC, UPDATE };  // an update reads what it writes over
void on_access(uintptr_t address, size_t bytes, bool write, Atomic, uint32_t pc, bool near = false);
/* Race with what the cell remembers? Notes the use. Shared memory of other blocks once lay in the same arena. */
void claim(Thread&, uintptr_t address, size_t bytes, bool updates);
Cell* cell_of(uintptr_t address);
void note(Cell&, Thread&, unsigned mask, bool write, Use, uint32_t pc, uintptr_t address, bool shared);
}  // namespace kwemu
