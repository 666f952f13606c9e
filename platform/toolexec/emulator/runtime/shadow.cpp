/* Who used which bytes last, and what orders two uses. */
#include "shadow.hpp"
#include <algorithm>
#include <unordered_map>

namespace kwemu {
namespace {
std::unordered_map<uintptr_t, Knowledge> released;  // by the address of the atomic, of this launch
std::map<std::pair<uintptr_t, uint32_t>, Knowledge> released_near;  // to a block alone
uint32_t released_serial;

void catch_up(Thread& t) {  // what a thread's clocks say belongs to one generation
  if (t.known_gen == t.block->gen) return;
  t.known_gen = t.block->gen;
  t.clock = 1;
  if (!t.known.empty()) t.known.assign(t.known.size(), 0);
}

void forget_older_launches() {
  if (released_serial == machine.launch->first_serial) return;
  released.clear();
  released_near.clear();
  released_serial = machine.launch->first_serial;
}

bool ordered(const Slot& s, Thread& t) {
  Block& b = *t.block;
  if (s.block == b.serial) {
    if (s.thread == t.now.rank || s.gen < b.gen) return true;
    if (t.known_gen == b.gen && !t.known.empty() && t.known[s.thread] >= s.clock) return true;
  }
  if (s.block < machine.launch->first_serial) return true;
  for (const Knowledge* k : {&t.knows, &b.knows}) {
    if (k->empty()) continue;
    auto below = k->below.find(s.block);
    if (below != k->below.end() && s.gen < below->second) return true;
    auto exact = k->exact.find({s.block, s.thread});
    if (exact != k->exact.end() && (s.gen < exact->second.first || (s.gen == exact->second.first && s.clock <= exact->second.second))) return true;
  }
  return false;
}

/* Atomics are no race among themselves, but those of a block's scope are none for another block. */
bool both_atomic(const Slot& s, Use use) { return s.use >= ATOMICALLY && use >= ATOMICALLY; }
bool together(const Slot& s, Use use, uint32_t block) {
  return both_atomic(s, use) && (s.block == block || (s.use != NEARLY && use != NEARLY));
}

std::string race_text(const Slot& s, Thread& t, bool write, Use use, bool other_writes, uint32_t pc, uintptr_t a) {
  bool shared;
  std::string place = place_of(a, shared);
  Block& b = *t.block;
  const Config& c = *machine.launch->config;
  uint32_t linear = s.block - machine.launch->first_serial;
  unsigned r = s.thread;
  std::string them = format("block (%u,%u,%u) thread (%u,%u,%u)", linear % c.grid.x, linear / c.grid.x % c.grid.y, linear / c.grid.x / c.grid.y, r % c.block.x, r / c.block.x % c.block.y, r / c.block.x / c.block.y);
  const char* mine = use != PLAINLY ? (write ? "updates atomically" : "reads atomically") : write ? "writes" : "reads";
  const char* theirs = s.use != PLAINLY ? "updated atomically" : other_writes ? "wrote" : "read";
  return here(t) + " " + mine + " " + place + " at " + at_call(pc) + ", which " + them + " " + theirs + " at " + at_pc(s.pc) +
                    (s.block == b.serial ? "; no barrier lies between" : both_atomic(s, use) ? "; an atomic of a block's scope is none for another block" : "; nothing orders two blocks");
}

bool same_user(const Slot& s, const Slot& m) { return s.block == m.block && s.thread == m.thread; }
}  // namespace

void Knowledge::join(const Knowledge& o) {
  for (auto& [block, gen] : o.below) below[block] = std::max(below[block], gen);
  for (auto& [who, when] : o.exact) exact[who] = std::max(exact[who], when);
}

void note(Cell& cell, Thread& t, unsigned mask, bool write, Use use, uint32_t pc, uintptr_t a, bool shared) {
  catch_up(t);
  Slot me{t.block->serial, t.block->gen, pc, t.now.rank, t.clock > 65535 ? 65535 : t.clock, mask, use};
  for (Slot& s : cell.writes)
    if (s.use && s.mask & mask && !together(s, use, me.block) && !(shared && s.block != me.block) && !ordered(s, t)) {
      if (write || use != PLAINLY || s.use == PLAINLY) fault("race", race_text(s, t, write, use, true, pc, a));
      if (t.suspicion.empty()) t.suspicion = race_text(s, t, write, use, true, pc, a), t.suspect = a;
    }
  if (!write) {
    Slot &r0 = cell.reads[0], &r1 = cell.reads[1];
    for (Slot& r : cell.reads)  // seen already
      if (r.use && same_user(r, me) && r.gen == me.gen && r.clock == me.clock && !(mask & ~r.mask) && r.use == use) return;
    if (!r0.use || same_user(r0, me)) me.mask |= r0.use && r0.gen == me.gen && r0.clock == me.clock ? r0.mask : 0, r0 = me;
    else if (!r1.use || same_user(r1, me)) me.mask |= r1.use && r1.gen == me.gen && r1.clock == me.clock ? r1.mask : 0, r1 = me;
    else if (r0.block == me.block && r0.gen < me.gen) r0 = me;
    else r1 = me;
    return;
  }
  for (Slot& s : cell.reads)
    if (s.use && s.mask & mask && !together(s, use, me.block) && !(shared && s.block != me.block) && !ordered(s, t)) fault("race", race_text(s, t, write, use, false, pc, a));
  Slot &w0 = cell.writes[0], &w1 = cell.writes[1];
  if (mask == 15) {
    w0 = me;
    w1.use = cell.reads[0].use = cell.reads[1].use = UNUSED;
  } else if (!w0.use || !(w0.mask & ~mask)) {
    w0 = me;
  } else if (!w1.use || !(w1.mask & ~mask)) {
    w1 = me;
  } else {
    (w0.mask & mask ? w0 : w1) = me;
  }
}

void settle(Thread& t) {
  if (CHECKED && !t.suspicion.empty()) fault("race", t.suspicion);
}

/* An atomic is about to happen: a plain read of the same address by the same thread belonged to it. */
void claim(Thread& t, uintptr_t a, size_t bytes, bool updates) {
  if (!updates || t.suspect != a) settle(t);
  t.suspicion.clear();
  if (!updates) return;
  for (uintptr_t r : t.reads)
    if (r == a)
      for (size_t i = 0; i < bytes; i += 4)
        if (Cell* cell = cell_of(a + i))
          for (Slot& s : cell->reads)
            if (s.use && s.block == t.block->serial && s.thread == t.now.rank) s.use = ATOMICALLY;
}

void order_block(Block& b) {
  if (b.somebody_knows) {
    for (Thread& t : b.threads) {
      b.knows.join(t.knows);
      t.knows = Knowledge{};
    }
    b.somebody_knows = false;
  }
  b.gen++;
  if (b.fenced) b.published = b.gen;
  b.fenced = false;
}

void order_some(Block& b, const std::vector<unsigned>& ranks) {
  std::vector<uint16_t> all(b.threads.size(), 0);
  Knowledge knowledge;
  for (unsigned r : ranks) {
    Thread& t = b.threads[r];
    catch_up(t);
    for (size_t i = 0; i < t.known.size(); i++) all[i] = std::max(all[i], t.known[i]);
    all[r] = std::max<uint16_t>(all[r], uint16_t(std::min(t.clock, 65535u)));
    if (b.somebody_knows) knowledge.join(t.knows);
  }
  for (unsigned r : ranks) {
    Thread& t = b.threads[r];
    t.known = all;
    t.clock++;
    if (b.somebody_knows) t.knows = knowledge;
  }
}

void order_lanes(Block& b, unsigned warp, unsigned lanes) {
  std::vector<unsigned> ranks;
  for (unsigned i = 0; i < WARP; i++)
    if (lanes >> i & 1) ranks.push_back(warp * WARP + i);
  order_some(b, ranks);
}

void order_arrival(Phased& m, Thread& t) {
  catch_up(t);
  Block& b = *t.block;
  if (m.gen != b.gen || m.clocks.empty()) m.clocks.assign(b.threads.size(), 0);  // what is older is ordered anyway
  m.gen = b.gen;
  for (size_t i = 0; i < t.known.size(); i++) m.clocks[i] = std::max(m.clocks[i], t.known[i]);
  m.clocks[t.now.rank] = std::max<uint16_t>(m.clocks[t.now.rank], uint16_t(std::min(t.clock, 65535u)));
  t.clock++;
}

void order_passing(Phased& m, Thread& t) {
  catch_up(t);
  if (m.past_gen != t.block->gen || m.past.empty()) return;
  if (t.known.empty()) t.known.assign(t.block->threads.size(), 0);
  for (size_t i = 0; i < t.known.size(); i++) t.known[i] = std::max(t.known[i], m.past[i]);
}

void order_grid(Launch& l) {
  if (!CHECKED) return;
  l.first_serial = machine.next_serial;
  machine.next_serial += l.total;
  for (auto& b : l.live) {
    b->serial = l.first_serial + b->linear;
    b->gen++;
    b->knows = Knowledge{};
    for (Thread& t : b->threads) t.knows = t.late = Knowledge{};
  }
}

void on_fence(Thread& t, bool near, bool acquires) {
  catch_up(t);
  t.near_fence = {t.block->gen, t.clock++};
  if (!near) {
    t.far_fence = t.near_fence;
    t.block->fenced = true;
  }
  if (!acquires || t.late.empty()) return;
  t.knows.join(t.late);
  t.late = Knowledge{};
  t.block->somebody_knows = true;
}

namespace {
/* What a thread releases: its own uses up to its fence, and those of others that it knew of then. */
void hand_on(Knowledge& k, Thread& t, std::pair<uint32_t, unsigned> fence) {
  Block& b = *t.block;
  auto& mine = k.exact[{b.serial, t.now.rank}];
  mine = std::max(mine, fence);
  if (t.known_gen == fence.first)
    for (size_t i = 0; i < t.known.size(); i++)
      if (t.known[i]) {
        auto& other = k.exact[{b.serial, unsigned(i)}];
        other = std::max(other, {fence.first, t.known[i]});
      }
  k.join(t.knows);
  k.join(b.knows);
}
}  // namespace

void on_atomic(Thread& t, uintptr_t address, bool writes, bool late) {
  forget_older_launches();
  Block& b = *t.block;
  auto see = [&](const Knowledge& k) {
    (late ? t.late : t.knows).join(k);
    b.somebody_knows |= !late;
  };
  if (auto found = released.find(address); found != released.end()) see(found->second);
  if (auto found = released_near.find({address, b.serial}); found != released_near.end()) see(found->second);
  if (!writes) return;
  if (t.near_fence.first == b.gen && t.near_fence > t.far_fence) hand_on(released_near[{address, b.serial}], t, t.near_fence);
  if (!t.far_fence.first && !b.published) return;
  Knowledge& k = released[address];
  uint32_t& below = k.below[b.serial];
  below = std::max({below, b.published, t.far_fence.first});
  if (t.far_fence.first) hand_on(k, t, t.far_fence);
}
}  // namespace kwemu
