#include "runtime/host/watch.h"

#if defined(PLIMSOLL_WATCHES_LIVES)

#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cstdio>

namespace plimsoll::host {
namespace {

int64_t workspace_of(const Command& command, const KernelSet& kernels) {
  if (command.offset == none || !command.is_step()) return 0;
  if (command.adds_up()) return command.bytes;
  return command.stream() == Stream::compute ? kernels.touched_by(command.index).workspace_bytes : 0;
}

}  // namespace

Watch::Watch(std::span<const ProgramLife> lives, std::byte* arena, int64_t arena_bytes)
    : arena_(arena), arena_bytes_(arena_bytes), by_first_(lives.begin(), lives.end()), by_last_(by_first_) {
  std::stable_sort(by_first_.begin(), by_first_.end(),
                   [](const ProgramLife& a, const ProgramLife& b) { return a.first_step < b.first_step; });
  std::stable_sort(by_last_.begin(), by_last_.end(),
                   [](const ProgramLife& a, const ProgramLife& b) { return a.last_step < b.last_step; });
}

Watch::~Watch() { __asan_unpoison_memory_region(arena_, static_cast<size_t>(arena_bytes_)); }

void Watch::begin_round() {
  __asan_poison_memory_region(arena_, static_cast<size_t>(arena_bytes_));
  begun_ = ended_ = 0;
  for (; begun_ < by_first_.size() && by_first_[begun_].first_step < 0; ++begun_)
    __asan_unpoison_memory_region(arena_ + by_first_[begun_].offset, static_cast<size_t>(by_first_[begun_].bytes));
}

void Watch::begin_step(const Command& command, const KernelSet& kernels) {
  if (!command.is_step()) return;
  for (; begun_ < by_first_.size() && by_first_[begun_].first_step <= command.step; ++begun_)
    __asan_unpoison_memory_region(arena_ + by_first_[begun_].offset, static_cast<size_t>(by_first_[begun_].bytes));
  if (const int64_t bytes = workspace_of(command, kernels); bytes > 0)
    __asan_unpoison_memory_region(arena_ + command.offset, static_cast<size_t>(bytes));
}

// A tensor that begins to live here may have the bytes of one that ends here.
void Watch::end_step(const Command& command, const KernelSet& kernels) {
  if (!command.is_step()) return;
  if (const int64_t bytes = workspace_of(command, kernels); bytes > 0)
    __asan_poison_memory_region(arena_ + command.offset, static_cast<size_t>(bytes));
  for (; ended_ < by_last_.size() && by_last_[ended_].last_step <= command.step; ++ended_)
    __asan_poison_memory_region(arena_ + by_last_[ended_].offset, static_cast<size_t>(by_last_[ended_].bytes));
  for (size_t i = begun_; i-- > 0 && by_first_[i].first_step == command.step;)
    if (by_first_[i].last_step > command.step)
      __asan_unpoison_memory_region(arena_ + by_first_[i].offset, static_cast<size_t>(by_first_[i].bytes));
}

// oneDNN's code is not instrumented, so the bytes that it will access are checked beforehand.
void Watch::touch(const Command& command, const KernelSet& kernels, std::byte* const* operands, std::byte*) {
  const std::vector<KernelSet::Touched::Bytes>& touched = kernels.touched_by(command.index).operands;
  for (size_t slot = 0; slot < touched.size(); ++slot) {
    if (touched[slot].access == Access::absent || touched[slot].bytes == 0) continue;
    void* const dead = __asan_region_is_poisoned(operands[slot], static_cast<size_t>(touched[slot].bytes));
    if (!dead) continue;
    std::fprintf(stderr, "step %d: operand %zu lies where nothing lives\n", command.step, slot);
    *static_cast<volatile char*>(dead);  // AddressSanitizer reports the error and ends the program
  }
}

}  // namespace plimsoll::host

#elif defined(PLIMSOLL_WATCHES_RACES)

extern "C" {
void __tsan_read_range(void* begin, unsigned long bytes);
void __tsan_write_range(void* begin, unsigned long bytes);
void __tsan_acquire(void* at);
void __tsan_release(void* at);
}

namespace plimsoll::host {

void Watch::finished(const void* step) { __tsan_release(const_cast<void*>(step)); }
void Watch::awaited(const void* step) { __tsan_acquire(const_cast<void*>(step)); }

void Watch::touch(const Command& command, const KernelSet& kernels, std::byte* const* operands, std::byte* workspace) {
  const KernelSet::Touched& touched = kernels.touched_by(command.index);
  for (size_t slot = 0; slot < touched.operands.size(); ++slot) {
    const auto& [access, bytes, type] = touched.operands[slot];
    const bool writes = access == Access::write || (access == Access::update && command.kind != Command::Kind::again);
    if (access == Access::absent) continue;
    if (writes) __tsan_write_range(operands[slot], static_cast<unsigned long>(bytes));
    else __tsan_read_range(operands[slot], static_cast<unsigned long>(bytes));
  }
  if (workspace) __tsan_write_range(workspace, static_cast<unsigned long>(touched.workspace_bytes));
}

}  // namespace plimsoll::host

#endif
