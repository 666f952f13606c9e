/* Lanes of a warp that meet at a primitive. Owns masks: who has to come, and who came that must not. */
#include "machine.hpp"
#include "shadow.hpp"

namespace kwemu {
namespace {
const char* const NAMES[] = {"", "__shfl_sync", "__shfl_up_sync", "__shfl_down_sync", "__shfl_xor_sync", "a vote",
                             "a match", "a reduction", "__syncwarp", "__activemask", "a group's operation"};

void let_go(Thread& t) {
  if (t.held && --t.held->holders == 0) delete t.held;
  t.held = nullptr;
}

void complete(Block& b, unsigned warp, Meeting* m) {
  auto& open = b.warps[warp].open;
  for (size_t i = 0; i < open.size(); i++)
    if (open[i] == m) open.erase(open.begin() + long(i--));
  if (CHECKED && m->op == SYNCWARP) order_lanes(b, warp, m->arrived);
  for (unsigned lane = 0; lane < WARP; lane++)
    if (m->arrived >> lane & 1) {
      Thread& t = b.threads[warp * WARP + lane];
      if (t.state == State::WAITING) wake(t);
    }
}

Meeting* join(Block& b, Thread& t, int op, unsigned mask, Site site) {
  Warp& w = b.warps[t.now.rank / WARP];
  unsigned bit = 1u << t.now.lane;
  if (CHECKED && !(mask & bit))
    fault("wrong mask", format("%s with mask 0x%08x at ", NAMES[op], mask) + at(site) + format(" is called by lane %u, which is not in it, ", t.now.lane) + here(t));
  Meeting* found = nullptr;
  for (Meeting* m : w.open)
    if (m->op != ACTIVE && m->mask == mask) found = m;
  if (found && CHECKED && found->op != op)
    fault("wrong mask", format("lanes of mask 0x%08x are at %s at ", mask, NAMES[op]) + at(site) + format(" and at %s at ", NAMES[found->op]) + at(found->site) + ", " + here(t));
  if (!found) {
    found = new Meeting;
    found->mask = mask;
    found->op = op;
    found->site = site;
    for (uint64_t& v : found->values) v = 0x7ff8dead7fc0dead;  // NaN, as a float and as a double
    w.open.push_back(found);
  }
  return found;
}
}  // namespace

void thread_left_warp(Thread& t) {
  let_go(t);
  Block& b = *t.block;
  unsigned warp = t.now.rank / WARP;
  Warp& w = b.warps[warp];
  w.alive &= ~(1u << t.now.lane);
  std::vector<Meeting*> open = w.open;
  for (Meeting* m : open)
    if (m->op != ACTIVE && !(m->mask & w.alive & ~m->arrived)) complete(b, warp, m);
}

/* At a standstill: do lanes wait for each other at different masks? That they did for a while is no fault. */
void explain_masks(Block& b) {
  for (Warp& w : b.warps)
    for (Meeting* m : w.open)
      for (Meeting* o : w.open)
        if (m != o && m->op != ACTIVE && o->op != ACTIVE && m->mask & ~m->arrived & o->arrived)
          fault("wrong mask", format("%s with mask 0x%08x at ", NAMES[m->op], m->mask) + at(m->site) + format(" waits for lanes that are at %s with mask 0x%08x at ", NAMES[o->op], o->mask) + at(o->site) + ", " +
                                  here(b.threads[unsigned(&w - &b.warps[0]) * WARP + unsigned(__builtin_ctz(m->arrived))]));
}

bool name_active_lanes(Block& b) {
  bool any = false;
  for (unsigned warp = 0; warp < b.warps.size(); warp++) {
    auto open = b.warps[warp].open;
    for (Meeting* m : open)
      if (m->op == ACTIVE) {
        complete(b, warp, m);
        any = true;
        break;  // the first place only: the others may join it further on
      }
  }
  return any;
}
}  // namespace kwemu

extern "C" {
kwemu::Values kwemu_warp(int op, unsigned mask, uint64_t value, unsigned* arrived, int line, const char* file) {
  using namespace kwemu;
  Thread& t = *machine.thread;
  Block& b = *t.block;
  unsigned warp = t.now.rank / WARP;
  Site site{file, line};
  let_go(t);
  Meeting* m = nullptr;
  if (op == ACTIVE) {
    for (Meeting* o : b.warps[warp].open)
      if (o->op == ACTIVE && o->site.line == line && !strcmp(o->site.file, file)) m = o;
    if (!m) {
      m = new Meeting;
      m->op = ACTIVE;
      m->site = site;
      b.warps[warp].open.push_back(m);
    }
  } else {
    m = join(b, t, op, mask, site);
  }
  m->values[t.now.lane] = value;
  m->arrived |= 1u << t.now.lane;
  m->holders++;
  t.held = m;
  if (op != ACTIVE && !(m->mask & b.warps[warp].alive & ~m->arrived)) complete(b, warp, m);
  else wait_here(op == ACTIVE ? Wait::ACTIVE_LANES : Wait::WARP_MEETING, site);
  *arrived = m->arrived;
  return m->values;
}

void kwemu_wrong_lane(int source, unsigned mask, int line, const char* file) {
  using namespace kwemu;
  // A value from outside the mask is undefined, but may go unused. A lane in the mask that has ended is a promise broken.
  if (!CHECKED || !(mask >> (source & 31) & 1)) return;
  fault("wrong mask", format("the mask 0x%08x names lane %d, which has ended or does not exist, and its value is read at ", mask, source) + at(Site{file, line}) + ", " + here(*machine.thread));
}
}
