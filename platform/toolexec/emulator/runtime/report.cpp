/* The text of a fault. The first one counts; nothing of the launch runs after it. */
#include <dlfcn.h>
#include <unwind.h>
#include <cstdarg>
#include "machine.hpp"

namespace kwemu {
Machine machine;

std::string format(const char* text, ...) {
  char room[1024];
  va_list list;
  va_start(list, text);
  vsnprintf(room, sizeof room, text, list);
  va_end(list);
  return room;
}

uint32_t offset_of(void* pc) {
  static char* base = [] {
    Dl_info info;
    return dladdr(reinterpret_cast<void*>(&offset_of), &info) ? static_cast<char*>(info.dli_fbase) : nullptr;
  }();
  return uint32_t(static_cast<char*>(pc) - base - 1);  // inside the call, not behind it
}

std::string at(Site s) {
  if (!s.file) return "?";
  const char* name = strrchr(s.file, '/');
  return format("%s:%d", name ? name + 1 : s.file, s.line);
}
std::string at_pc(uint32_t pc) { return format("[[%x]]", pc); }

/* The counter and the calls that led to it: code of headers is told by the kernel's line that called it. */
std::string at_call(uint32_t pc) {
  struct Walk {
    uint32_t pc;
    std::string found;
    int frames;
  } walk{pc, "", 0};
  _Unwind_Backtrace(
      [](_Unwind_Context* c, void* told) {
        Walk& w = *static_cast<Walk*>(told);
        uint32_t here = offset_of(reinterpret_cast<void*>(_Unwind_GetIP(c)));
        if (w.found.empty() && here != w.pc) return w.frames++ < 64 ? _URC_NO_REASON : _URC_END_OF_STACK;
        w.found += format(w.found.empty() ? "%x" : ",%x", here);
        return ++w.frames < 64 && w.found.size() < 120 ? _URC_NO_REASON : _URC_END_OF_STACK;
      },
      &walk);
  return walk.found.empty() ? at_pc(pc) : "[[" + walk.found + "]]";
}

std::string here(const Thread& t) {
  return format("block (%u,%u,%u) thread (%u,%u,%u)", t.now.block.x, t.now.block.y, t.now.block.z, t.now.thread.x,
                t.now.thread.y, t.now.thread.z);
}

void fault(const char* kind, const std::string& text) {
  if (machine.report.empty()) {
    const char* name = machine.launch ? machine.launch->config->name : "";
    machine.report = std::string(kind) + ": " + text + (*name ? format(" (kernel %s)", name) : "");
  }
  machine.stop = true;
  if (!machine.thread) throw machine.report;
  machine.thread->state = State::DONE;
  leave();
  __builtin_unreachable();
}
}  // namespace kwemu

extern "C" void kwemu_stop(const char* kind, const char* text, int line, const char* file) {
  using namespace kwemu;
  std::string where = line ? " at " + at(Site{file, line}) : "";
  fault(kind, text + where + (machine.thread ? ", " + here(*machine.thread) : ""));
}
