// The threads of a block. They run one after another on one fiber as long as none stops; a thread that reaches a
// barrier or a shuffle stays on its fiber, and the following ones continue on another. So a kernel without barriers
// needs no context switch.
#ifndef __x86_64__
#include <ucontext.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iterator>
#include <memory>
#include <vector>

#include "cuda_runtime.h"
#include "emulation.h"

dim3 threadIdx, blockIdx, blockDim, gridDim;

namespace emulation {
namespace {

constexpr size_t kStack = 64 * 1024;
constexpr unsigned kWarp = 32;

enum class State { waiting_to_start, ready, at_block_barrier, at_shuffle, ended };

// Where a stack was left. go() leaves one and continues at another. The tests do it so often that setjmp and longjmp
// took two fifths of their time. On x86-64 it therefore only exchanges the registers that a function preserves.
#ifdef __x86_64__
using Place = void*;  // the stack pointer, below which these registers are stored
extern "C" void plimsoll_emulation_go(Place* from, Place to);
__asm__(R"(
  .text
  .globl plimsoll_emulation_go
  .hidden plimsoll_emulation_go
  .type plimsoll_emulation_go, @function
plimsoll_emulation_go:
  pushq %rbp
  pushq %rbx
  pushq %r12
  pushq %r13
  pushq %r14
  pushq %r15
  movq %rsp, (%rdi)
  movq %rsi, %rsp
  popq %r15
  popq %r14
  popq %r13
  popq %r12
  popq %rbx
  popq %rbp
  ret
  .size plimsoll_emulation_go, .-plimsoll_emulation_go
)");
void go(Place& from, Place& to) { plimsoll_emulation_go(&from, to); }
void begin_at(Place& place, char* stack, void (*function)()) {
  // Six registers, the address to return to, and a word that aligns the stack as a call of `function` would.
  void** const top = reinterpret_cast<void**>(reinterpret_cast<uintptr_t>(stack + kStack) / 16 * 16);
  void* const stored[] = {nullptr, nullptr, nullptr, nullptr, nullptr, nullptr, reinterpret_cast<void*>(function),
                          nullptr};
  place = std::copy(std::begin(stored), std::end(stored), top - std::size(stored)) - std::size(stored);
}
#else
using Place = ucontext_t;
void go(Place& from, Place& to) { swapcontext(&from, &to); }
void begin_at(Place& place, char* stack, void (*function)()) {
  getcontext(&place);
  place.uc_stack.ss_sp = stack;
  place.uc_stack.ss_size = kStack;
  place.uc_link = nullptr;
  makecontext(&place, function, 0);
}
#endif

struct Fiber {
  Place place;
  std::unique_ptr<char[]> stack{new char[kStack]};
};

struct Thread {
  State state = State::waiting_to_start;
  Fiber* fiber = nullptr;
  unsigned shuffles = 0;
  uint64_t slots[2] = {};  // its contributions to the current and the previous shuffle
};

std::vector<Thread> threads;
std::vector<std::unique_ptr<Fiber>> fibers;
std::vector<Fiber*> idle;
Fiber* current = nullptr;
Place scheduler;
unsigned running = 0;   // thread
unsigned started = 0;   // threads of this block
bool upwards = false;
const std::function<void()>* thread_body = nullptr;

[[noreturn]] void fail(const char* what) {
  std::fprintf(stderr, "emulated kernel, block %u: %s\n", blockIdx.x, what);
  std::abort();
}

void become(unsigned thread) {
  running = thread;
  threadIdx = dim3(thread);
}

// The body of a fiber: runs one thread after another, then waits for the next block.
void work() {
  for (;;) {
    while (started < threads.size()) {
      const unsigned number = started++;
      const unsigned thread = upwards ? number : static_cast<unsigned>(threads.size()) - 1 - number;
      become(thread);
      threads[thread].fiber = current;
      (*thread_body)();
      threads[running].state = State::ended;
    }
    idle.push_back(current);
    go(current->place, scheduler);
  }
}

void to_fiber(Fiber& fiber) {
  current = &fiber;
  go(scheduler, fiber.place);
}

void run_those_not_started() {
  while (started < threads.size()) {
    if (idle.empty()) {
      fibers.push_back(std::make_unique<Fiber>());
      begin_at(fibers.back()->place, fibers.back()->stack.get(), work);
      to_fiber(*fibers.back());
    } else {
      Fiber* const fiber = idle.back();
      idle.pop_back();
      to_fiber(*fiber);
    }
  }
}

// The next thread of this round, in the order of run_block(), continues without a detour through the scheduler: tests
// of products on tensor cores switch between threads most of their time.
void stop_at(State state) {
  threads[running].state = state;
  Fiber& left = *current;
  if (started == threads.size())
    for (unsigned t = running; upwards ? ++t < threads.size() : t-- > 0;) {
      if (threads[t].state != State::ready) continue;
      become(t);
      current = threads[t].fiber;
      return go(left.place, current->place);
    }
  go(left.place, scheduler);
}

// If all lanes of a warp are at the same shuffle, they continue.
bool release_warps() {
  bool released = false;
  for (size_t first = 0; first < threads.size(); first += kWarp) {
    unsigned waiting = 0, ended = 0;
    for (size_t lane = first; lane < first + kWarp; ++lane) {
      waiting += threads[lane].state == State::at_shuffle;
      ended += threads[lane].state == State::ended;
    }
    if (waiting > 0 && ended > 0) fail("a shuffle that not all threads of a warp come to");
    if (waiting < kWarp) continue;
    for (size_t lane = first; lane < first + kWarp; ++lane) threads[lane].state = State::ready;
    released = true;
  }
  return released;
}

void run_block() {
  for (Thread& thread : threads) thread = Thread{};
  started = 0;
  run_those_not_started();
  for (;;) {
    if (!release_warps()) {
      size_t at_barrier = 0, ended = 0;
      for (const Thread& thread : threads) {
        at_barrier += thread.state == State::at_block_barrier;
        ended += thread.state == State::ended;
      }
      if (ended == threads.size()) return;
      if (at_barrier < threads.size()) fail("a barrier that not all threads come to");
      for (Thread& thread : threads) thread.state = State::ready;
    }
    for (size_t i = 0; i < threads.size(); ++i) {
      const size_t t = upwards ? i : threads.size() - 1 - i;
      if (threads[t].state != State::ready) continue;
      become(static_cast<unsigned>(t));
      to_fiber(*threads[t].fiber);
    }
  }
}

}  // namespace

void sync_block() { stop_at(State::at_block_barrier); }

uint64_t shuffle_down(uint64_t value, unsigned distance) {
  const unsigned lane = running % kWarp;
  return shuffle(value, lane + distance < kWarp ? lane + distance : lane);
}

uint64_t shuffle_xor(uint64_t value, unsigned mask) { return shuffle(value, running % kWarp ^ mask); }

uint64_t shuffle(uint64_t value, unsigned lane) {
  const unsigned me = running, number = threads[me].shuffles++;
  threads[me].slots[number % 2] = value;
  stop_at(State::at_shuffle);
  return threads[me / kWarp * kWarp + lane % kWarp].slots[number % 2];
}

void run_grid(const dim3& grid, const dim3& block, const std::function<void()>& body) {
  upwards = !upwards;
  if (block.x % kWarp != 0) fail("a block of a part of a warp");
  threads.resize(block.x);
  thread_body = &body;
  blockDim = block;
  gridDim = grid;
  for (unsigned i = 0; i < grid.x; ++i) {
    blockIdx = dim3(upwards ? i : grid.x - 1 - i);
    run_block();
  }
}

}  // namespace emulation
