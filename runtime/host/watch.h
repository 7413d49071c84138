// What sanitizers are told about the arena; empty in other builds. Sanitizers see neither into oneDNN's kernels nor
// which tensors share the arena. So they are told what each step accesses and, for addresses, which tensors are live at
// each step.
//
//   -fsanitize=address   bytes without a live tensor are poisoned while a step runs. Steps run in the order of issue on
//                        one thread, because lifetimes are stated in that order
//   -fsanitize=thread    every operand is read or written on behalf of the kernel, on its stream; a step is ordered
//                        after another only if the plan says so, not because a stream happened to be further
#pragma once

#include <vector>

#include "runtime/program.h"

#if defined(__SANITIZE_ADDRESS__)
#define PLIMSOLL_WATCHES_LIVES 1
#elif defined(__SANITIZE_THREAD__)
#define PLIMSOLL_WATCHES_RACES 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define PLIMSOLL_WATCHES_LIVES 1
#elif __has_feature(thread_sanitizer)
#define PLIMSOLL_WATCHES_RACES 1
#endif
#endif

namespace plimsoll::host {

#if defined(PLIMSOLL_WATCHES_LIVES)

class Watch {
 public:
  Watch(std::span<const ProgramLife> lives, std::byte* arena, int64_t arena_bytes);
  ~Watch();
  static constexpr bool in_order_of_issue() { return true; }
  static constexpr bool told_of_order() { return false; }
  void finished(const void*) {}
  void awaited(const void*) {}
  void begin_round();
  void begin_step(const Command& command, const KernelSet& kernels);
  void end_step(const Command& command, const KernelSet& kernels);
  void touch(const Command& command, const KernelSet& kernels, std::byte* const* operands, std::byte* workspace);

 private:
  std::byte* const arena_;
  const int64_t arena_bytes_;
  std::vector<ProgramLife> by_first_, by_last_;
  size_t begun_ = 0, ended_ = 0;
};

#elif defined(PLIMSOLL_WATCHES_RACES)

class Watch {
 public:
  Watch(std::span<const ProgramLife>, std::byte*, int64_t) {}
  static constexpr bool in_order_of_issue() { return false; }
  static constexpr bool told_of_order() { return true; }
  // Everything the stream did until `step` finished happens before what this thread does from here on.
  void finished(const void* step);
  void awaited(const void* step);
  void begin_round() {}
  void begin_step(const Command&, const KernelSet&) {}
  void end_step(const Command&, const KernelSet&) {}
  void touch(const Command& command, const KernelSet& kernels, std::byte* const* operands, std::byte* workspace);
};

#else

class Watch {
 public:
  Watch(std::span<const ProgramLife>, std::byte*, int64_t) {}
  static constexpr bool in_order_of_issue() { return false; }
  static constexpr bool told_of_order() { return false; }
  void finished(const void*) {}
  void awaited(const void*) {}
  void begin_round() {}
  void begin_step(const Command&, const KernelSet&) {}
  void end_step(const Command&, const KernelSet&) {}
  void touch(const Command&, const KernelSet&, std::byte* const*, std::byte*) {}
};

#endif

}  // namespace plimsoll::host
