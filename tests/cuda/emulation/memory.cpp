// Memory of the emulation, and its other users. In bytes, from the environment:
//
//   PLIMSOLL_EMULATED_MEMORY=N     the device's memory; default: one tebibyte
//   PLIMSOLL_EMULATED_OTHERS=N     the part of it that other processes use
//   PLIMSOLL_EMULATED_LIBRARY=N@K  a library allocates N bytes with cudaMalloc when the K-th kernel is launched, and
//                                  keeps them
//   PLIMSOLL_EMULATED_COMES=N@K    another process takes N bytes, or the rest, when the K-th kernel is launched; @0:
//                                  after the trainer's first query and before its first allocation
//   PLIMSOLL_EMULATED_PINNED=N     the maximum of host memory that may be pinned
#include <cstdlib>
#include <cstring>
#include <map>

#include "cuda_runtime.h"
#include "emulation.h"

namespace {

size_t from_environment(const char* name, size_t otherwise) {
  const char* const text = std::getenv(name);
  return text ? static_cast<size_t>(std::strtoull(text, nullptr, 10)) : otherwise;
}

// Allocations by address. Never destroyed, because libraries free memory when the process ends.
struct Taken {
  std::map<void*, size_t> bytes_at = {};
  size_t bytes = 0;
};
Taken& on_device() {
  static Taken* const taken = new Taken;
  return *taken;
}
Taken& pinned() {
  static Taken* const taken = new Taken;
  return *taken;
}

size_t memory_of_device() { return from_environment("PLIMSOLL_EMULATED_MEMORY", size_t{1} << 40); }

size_t left_of(size_t all, size_t taken) { return all > taken ? all - taken : 0; }

size_t came = 0;  // bytes that another process has taken since

size_t free_of_device() {
  return left_of(memory_of_device(), from_environment("PLIMSOLL_EMULATED_OTHERS", 0) + came + on_device().bytes);
}

// "N@K" from the environment: N, if its time has come.
size_t wished_at(const char* const text, uint64_t now) {
  if (!text) return 0;
  char* rest = nullptr;
  const size_t bytes = static_cast<size_t>(std::strtoull(text, &rest, 10));
  return *rest == '@' && std::strtoull(rest + 1, nullptr, 10) == now ? bytes : 0;
}

void others_come(uint64_t launched) {
  static const char* const coming = std::getenv("PLIMSOLL_EMULATED_COMES");
  if (came == 0) came = wished_at(coming, launched);
}

cudaError_t take(Taken& from, size_t left, void** address, size_t bytes) {
  if (bytes > left) return cudaErrorMemoryAllocation;
  *address = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (!*address) return cudaErrorMemoryAllocation;
  std::memset(*address, 0xA5, bytes);  // what a device gives does not begin with zeros
  from.bytes_at[*address] = bytes;
  from.bytes += bytes;
  return cudaSuccess;
}

cudaError_t give_back(Taken& to, void* address) {
  if (const auto at = to.bytes_at.find(address); at != to.bytes_at.end()) {
    to.bytes -= at->second;
    to.bytes_at.erase(at);
  }
  return std::free(address), cudaSuccess;
}

}  // namespace

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  *total = memory_of_device();
  *free = free_of_device();
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** address, size_t bytes) {
  others_come(0);
  return take(on_device(), free_of_device(), address, bytes);
}
cudaError_t cudaFree(void* address) { return give_back(on_device(), address); }
cudaError_t cudaHostAlloc(void** address, size_t bytes, unsigned) {
  const size_t all = from_environment("PLIMSOLL_EMULATED_PINNED", size_t{1} << 40);
  return take(pinned(), left_of(all, pinned().bytes), address, bytes);
}
cudaError_t cudaFreeHost(void* address) { return give_back(pinned(), address); }

namespace emulation {

size_t bytes_left() { return free_of_device(); }

void tell_library(uint64_t launched) {
  others_come(launched);
  static const char* const wish = std::getenv("PLIMSOLL_EMULATED_LIBRARY");
  const size_t bytes = wished_at(wish, launched);
  void* kept = nullptr;
  if (bytes > 0) cudaMalloc(&kept, bytes);
}

}  // namespace emulation
