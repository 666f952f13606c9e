/* Stacks and switching between them. A thread that never waits gives its stack to the next one. */
#include <sys/mman.h>
#if !defined(__x86_64__)
#include <ucontext.h>
#endif
#include "machine.hpp"

extern "C" KWEMU_HIDDEN kwemu::Now kwemu_now;
kwemu::Now kwemu_now;

namespace kwemu {
namespace {
std::vector<char*> spare_stacks;

void body() {
  machine.launch->body(machine.launch->arguments);
  Thread& t = *machine.thread;
  settle(t);
  t.state = State::DONE;
  t.block->done++;
  leave();
  __builtin_unreachable();
}
}  // namespace

char* take_stack() {
  if (spare_stacks.empty()) {
    char* made = static_cast<char*>(mmap(nullptr, STACK_BYTES, PROT_READ | PROT_WRITE,
                                         MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (made == MAP_FAILED) fault("launch", "no memory for the threads' stacks");
    mprotect(made, 4096, PROT_NONE);  // a stack that overflows must not run into another
    return made;
  }
  char* stack = spare_stacks.back();
  spare_stacks.pop_back();
  return stack;
}
void give_stack(char* stack) { spare_stacks.push_back(stack); }

#if defined(__x86_64__)
extern "C" void kwemu_switch(void** from, void* to);
asm(R"(
.text
.globl kwemu_switch
.hidden kwemu_switch
.type kwemu_switch,@function
kwemu_switch:
 pushq %rbp
 pushq %rbx
 pushq %r12
 pushq %r13
 pushq %r14
 pushq %r15
 movq %rsp,(%rdi)
 movq %rsi,%rsp
 popq %r15
 popq %r14
 popq %r13
 popq %r12
 popq %rbx
 popq %rbp
 ret
)");
namespace {
void prepare(Thread& t) {
  // Tops a page apart would all fall into the same sets of the cache.
  size_t colour = (uintptr_t(t.stack) / STACK_BYTES % 128) * 192;
  void** top = reinterpret_cast<void**>(t.stack + STACK_BYTES - 64 - colour);
  *--top = nullptr;
  *--top = reinterpret_cast<void*>(&body);
  for (int i = 0; i < 6; i++) *--top = nullptr;
  t.sp = top;
}
void go(Thread& t) { kwemu_switch(&machine.scheduler, t.sp); }
void back(Thread& t) { kwemu_switch(&t.sp, machine.scheduler); }
}  // namespace
#else
namespace {
ucontext_t scheduler_context;
void prepare(Thread& t) {
  auto* c = new (t.stack + 4096) ucontext_t;
  getcontext(c);
  c->uc_stack.ss_sp = t.stack + 8192;
  c->uc_stack.ss_size = STACK_BYTES - 8192;
  c->uc_link = nullptr;
  makecontext(c, body, 0);
  t.sp = c;
}
void go(Thread& t) { swapcontext(&scheduler_context, static_cast<ucontext_t*>(t.sp)); }
void back(Thread& t) { swapcontext(static_cast<ucontext_t*>(t.sp), &scheduler_context); }
}  // namespace
#endif

void resume(Thread& t) {
  if (!t.stack) {
    t.stack = take_stack();
    prepare(t);
  }
  machine.thread = &t;
  machine.block = t.block;
  kwemu_now = t.now;
  go(t);
  machine.thread = nullptr;
}

void leave() { back(*machine.thread); }
}  // namespace kwemu
