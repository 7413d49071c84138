// What a backend gives a trainer besides its kernels: threads or a device, the arena, copies. One set of functions per
// backend; the link decides.
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

// There is no device that this program can run on, or it failed. what() says which call, and what to do.
class DeviceError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The planned bytes are not there. what() says how many are.
class NoMemory : public std::bad_alloc {
 public:
  explicit NoMemory(std::string what) : what_(std::move(what)) {}
  const char* what() const noexcept override { return what_.c_str(); }

 private:
  std::string what_;
};

// To be called first in main(), with its argv: settles what libraries read of the environment before main(), for which the same process may
// start this program once more. It never fails.
void settle_environment(char** arguments);

// Takes the device, or fixes what the bits of a result depend on. Called once, before anything else of the backend.
// Throws DeviceError.
void start(int64_t threads);

// The one allocation of a trainer: zeroed, every page touched, aligned for every layout. Gives it back at the end. The
// host's own memory, or the device's, which nobody but copies and kernels may touch. Throws std::bad_alloc or NoMemory.
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
  // Zeroed. In memory (pinned on cuda); or, with a directory, in a file there that has no name, so that it is gone with the
  // process; the host alone has such files. Takes all of it at once: a machine without the room says so now.
  // Throws std::bad_alloc, NoMemory or HostPoolError.
  HostPool(int64_t bytes, const std::string& directory);
  ~HostPool();
  HostPool(const HostPool&) = delete;
  HostPool& operator=(const HostPool&) = delete;

  // Finished on return. Throw HostPoolError.
  void store(int64_t offset, const std::byte* from, int64_t bytes) const;
  void fetch(int64_t offset, std::byte* to, int64_t bytes) const;

  std::byte* data() const;  // null: in a file

 private:
  struct Memory;
  std::unique_ptr<Memory> memory_;
  int file_ = -1;
};

// Host memory that load steps copy from: pinned on cuda, so that the copies run beside kernels. Throws std::bad_alloc.
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

// Of the whole device, whoever has taken the rest; nothing where the arena is the host's own memory.
struct DeviceMemory {
  int64_t total = 0, free = 0;
};
std::optional<DeviceMemory> device_memory();

// Of a stream, null is the one of no plan: for what is done before and after the rounds.
void copy_in(void* stream, std::byte* to, const std::byte* from, int64_t bytes);   // host → arena; `from` may be reused on return
void copy_out(void* stream, std::byte* to, const std::byte* from, int64_t bytes);  // arena → host, finished on return
void finish(void* stream);                                                         // waits for all that was issued

// What of a RunContext and a RoundJob this backend heeds; a trainer refuses options that need what it does not.
struct Heeds {
  bool loss_scale = false;  // RunContext::loss_scale: batches that are not whole
  bool discard = false;     // RunContext::discard and RoundJob::guarded: iterations that are left out
  bool times = false;       // RoundJob::times
};
Heeds heeds();

std::string device_name();
std::string library_version();  // "onednn 2.6.3"; several in alphabetical order, with commas

}  // namespace plimsoll::backend
