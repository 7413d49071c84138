#include "runtime/backend.h"

#include <omp.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <new>

#include "runtime/host/onednn.h"
#include "runtime/host/waiting.h"
#include "runtime/machine/numa.h"
#include "runtime/machine/subnormals.h"

namespace plimsoll::backend {
namespace {

constexpr int64_t kPage = 4096, kHugePage = int64_t{2} << 20;

void touch(std::byte* begin, int64_t bytes) {
  volatile std::byte* const touched = begin;
#pragma omp parallel for schedule(static) if (bytes > kHugePage)
  for (int64_t first = 0; first < bytes; first += kHugePage)
    for (int64_t at = first; at < std::min(first + kHugePage, bytes); at += kPage) touched[at] = std::byte{0};
}

}  // namespace

void settle_environment(char** arguments) {
  host::wait_briefly(arguments);  // may start the program again, which would undo what comes before
  flush_subnormals();             // before any other thread exists
}

void start(int64_t threads) {
  omp_set_dynamic(0);
  if (threads > 0) omp_set_num_threads(static_cast<int>(threads));
}

// Aligned to a huge page if it is at least that long: fewer page faults, and cheaper address translation later. No more
// memory is kept than the plan needs. Touching every page here means that insufficient memory is reported at start-up
// and not in the middle of an epoch. All threads touch pages: the system clears each page on the processor that touches
// it. A plan gives the same bytes to tensors of different tasks, whose threads are on all nodes, so pages are spread
// over the nodes instead of lying on the node of the thread that touches them.
Arena::Arena(int64_t bytes) : bytes_(bytes) {
  allocated_ = (std::max<int64_t>(bytes, 1) + kPage - 1) / kPage * kPage;
  const int64_t reserved = allocated_ + kHugePage;
  void* address =
      mmap(nullptr, static_cast<size_t>(reserved), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (address == MAP_FAILED) throw std::bad_alloc();
  std::byte* const begin = static_cast<std::byte*>(address);
  const int64_t skipped = -static_cast<int64_t>(reinterpret_cast<uintptr_t>(begin)) & (kHugePage - 1);
  data_ = begin + skipped;
  if (skipped > 0) munmap(begin, static_cast<size_t>(skipped));
  if (skipped < kHugePage) munmap(data_ + allocated_, static_cast<size_t>(kHugePage - skipped));
  madvise(data_, static_cast<size_t>(allocated_), MADV_HUGEPAGE);  // advisory: pages are small if it fails
  interleave(data_, allocated_, memory_nodes());
  touch(data_, allocated_);
}

Arena::~Arena() { munmap(data_, static_cast<size_t>(allocated_)); }

StagingBuffer::StagingBuffer(int64_t bytes) : data_(new std::byte[static_cast<size_t>(bytes)]) {}

StagingBuffer::~StagingBuffer() { delete[] data_; }

std::optional<DeviceMemory> device_memory() { return {}; }

Heeds heeds() { return {.loss_scale = true, .discard = true, .times = true}; }

void copy_in(void*, std::byte* to, const std::byte* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void copy_out(void*, std::byte* to, const std::byte* from, int64_t bytes) {
  std::memcpy(to, from, static_cast<size_t>(bytes));
}

void finish(void*) {}

std::string device_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);)
    if (line.rfind("model name", 0) == 0) return line.substr(std::min(line.size(), line.find(':') + 2));
  return "cpu";
}

std::string library_version() {
  const dnnl_version_t* version = dnnl_version();
  return "onednn " + std::to_string(version->major) + "." + std::to_string(version->minor) + "." +
         std::to_string(version->patch);
}

}  // namespace plimsoll::backend
