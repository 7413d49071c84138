// What a backend gives a trainer besides its kernels: threads or a device, the arena, copies. One set of functions per
// backend; the link decides.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>

namespace plimsoll::backend {

// Fixes what the bits of a result depend on. Called once, before anything else of the backend.
void start(int64_t threads);

// The one allocation of a trainer: zeroed, every page touched, aligned for every layout. Gives it back at the end.
// Throws std::bad_alloc.
class Arena {
 public:
  explicit Arena(int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }            // asked for
  int64_t allocated_bytes() const { return allocated_; }  // taken from the system: whole pages

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0, allocated_ = 0;
};

// The host pool's file cannot be written or read.
class HostPoolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Where offloaded tensors wait. Its copies may run beside the kernels, one of each direction at a time.
class HostPool {
 public:
  // In memory; or, with a directory, in a file there that has no name, so that it is gone with the process. Takes all
  // of it at once: a machine without the room says so now. Throws std::bad_alloc or HostPoolError.
  HostPool(int64_t bytes, const std::string& directory);
  ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  // Finished on return. Throw HostPoolError.
  void store(int64_t offset, const std::byte* from, int64_t bytes) const;
  void fetch(int64_t offset, std::byte* to, int64_t bytes) const;

 private:
  std::unique_ptr<Arena> memory_;
  int file_ = -1;
};

void copy_in(void* stream, std::byte* to, const std::byte* from, int64_t bytes);   // host → arena
void copy_out(void* stream, std::byte* to, const std::byte* from, int64_t bytes);  // arena → host, finished on return
void finish(void* stream);                                                         // waits for all that was issued

std::string device_name();
std::string library_version();  // "onednn 2.6.3"

}  // namespace plimsoll::backend
