#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "runtime/backend.h"

namespace plimsoll::backend {
namespace {

[[noreturn]] void fail(int error, const std::string& what) {
  throw HostPoolError(what + ": " + std::strerror(error));
}

// An unnamed file. Some file systems do not support that: then the file has a name for a moment.
int open_nameless(const std::string& directory) {
  const int file = ::open(directory.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
  if (file >= 0) return file;
  std::string path = directory + "/plimsoll-spill-XXXXXX";
  const int named = ::mkostemp(path.data(), O_CLOEXEC);
  if (named < 0) fail(errno, "cannot write to '" + directory + "'");
  ::unlink(path.c_str());
  return named;
}

}  // namespace

struct HostPool::Memory {
  Arena arena;
};

// Cached pages of the file belong to the system: they are not resident in this process, and are reclaimed first when
// memory is short.
HostPool::HostPool(int64_t bytes, const std::string& directory) {
  if (directory.empty()) {
    memory_.reset(new Memory{Arena(bytes)});
    return;
  }
  file_ = open_nameless(directory);
  // Reserves the disk space now. posix_fallocate returns its error, and may be interrupted.
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(file_, 0, bytes);
  if (error == 0) return;
  ::close(file_);
  fail(error, "cannot write the " + std::to_string(bytes) + " bytes of the host pool to '" + directory + "'");
}

HostPool::~HostPool() {
  if (file_ >= 0) ::close(file_);
}

std::byte* HostPool::data() const { return memory_ ? memory_->arena.data() : nullptr; }

void HostPool::store(int64_t offset, const std::byte* from, int64_t bytes) const {
  if (memory_) {
    std::memcpy(memory_->arena.data() + offset, from, static_cast<size_t>(bytes));
    return;
  }
  while (bytes > 0) {
    const ssize_t put = ::pwrite(file_, from, static_cast<size_t>(bytes), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail(put < 0 ? errno : ENOSPC, "cannot write to the host pool's file");
    from += put;
    offset += put;
    bytes -= put;
  }
}

void HostPool::fetch(int64_t offset, std::byte* to, int64_t bytes) const {
  if (memory_) {
    std::memcpy(to, memory_->arena.data() + offset, static_cast<size_t>(bytes));
    return;
  }
  while (bytes > 0) {
    const ssize_t got = ::pread(file_, to, static_cast<size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) fail(got < 0 ? errno : EIO, "cannot read from the host pool's file");
    to += got;
    offset += got;
    bytes -= got;
  }
}

}  // namespace plimsoll::backend
