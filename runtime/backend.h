// What a backend provides to a trainer in addition to its kernels: threads or a device, the arena, copies. One set of
// functions per backend; the link selects it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

namespace plimsoll::backend {

// No device can run this program, or the device failed. what() names the failed call, and what to do.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The planned bytes are not available. what() says how many are.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// Call this first in main(), with its argv: sets the environment that libraries read before main(), for which the
// process may re-execute this program once, and what threads inherit (machine/subnormals.h). Never fails.
void settle_environment(char** arguments);

// Acquires the device, or fixes the settings that determine the bits of a result. Called once, before anything else of
// the backend. Throws DeviceError.
void start(int64_t threads);

// The single allocation of a trainer: zeroed, every page touched, aligned for every layout, freed on destruction. It is
// host memory, or device memory that only copies and kernels may access. Throws std::bad_alloc or NoMemory.
class Arena {
 public:
  explicit Arena(int64_t bytes);
  ~Arena();
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;
  std::byte* data() const { return data_; }
  int64_t bytes() const { return bytes_; }            // requested
  int64_t allocated_bytes() const { return allocated_; }  // allocated from the system: whole pages

 private:
  std::byte* data_ = nullptr;
  int64_t bytes_ = 0, allocated_ = 0;
};

// The file of the host pool cannot be written or read.
class HostPoolError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Holds offloaded tensors. Its copies may run concurrently with kernels, one per direction at a time.
class HostPool {
 public:
  // Zeroed. In memory (pinned on cuda); or, with a directory, in an unnamed file there, which disappears with the
  // process (host only). Allocates everything at once, so that insufficient space is reported at start-up. Throws
  // std::bad_alloc, NoMemory or HostPoolError.
  HostPool(int64_t bytes, const std::string& directory);
  ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  // Complete on return. Throw HostPoolError.
  void store(int64_t offset, const std::byte* from, int64_t bytes) const;
  void fetch(int64_t offset, std::byte* to, int64_t bytes) const;

  std::byte* data() const;  // null: in a file

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
  int file_ = -1;
};

// Host memory that load steps copy from: pinned on cuda, so that copies run concurrently with kernels. Throws
// std::bad_alloc.
class StagingBuffer {
 public:
  explicit StagingBuffer(int64_t bytes);
  ~StagingBuffer();
  StagingBuffer(StagingBuffer&& other) noexcept : data_(std::exchange(other.data_, nullptr)) {}
  StagingBuffer& operator=(StagingBuffer&&) = delete;
  std::byte* data() const { return data_; }

 private:
  std::byte* data_ = nullptr;
};

// Of the whole device, including what other processes use; nullopt if the arena is host memory.
struct DeviceMemory {
  int64_t total = 0, free = 0;
};
std::optional<DeviceMemory> device_memory();

// A null stream belongs to no plan: it is used before and after the rounds.
// host → arena; `from` may be reused on return
void copy_in(void* stream, std::byte* to, const std::byte* from, int64_t bytes);
void copy_out(void* stream, std::byte* to, const std::byte* from, int64_t bytes);  // arena → host, complete on return
void finish(void* stream);                                                         // waits for all issued work

// The optional parts of RunContext and RoundJob that this backend supports; a trainer rejects options that need others.
struct Heeds {
  bool loss_scale = false;  // RunContext::loss_scale: incomplete batches
  bool discard = false;     // RunContext::discard and RoundJob::guarded: skipped iterations
  bool times = false;       // RoundJob::times
};
Heeds heeds();

std::string device_name();
std::string library_version();  // "onednn 2.6.3"; several in alphabetical order, separated by commas

}  // namespace plimsoll::backend
