#include "runtime/train/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "runtime/train/error.h"

namespace plimsoll::train {
namespace {

constexpr const char* kOpenFiles = "/proc/self/fd";

// A writer locks its staging file. A staging file that can be locked was left by a process that ended.
void sweep_staging(const std::string& folder, const std::string& prefix) {
  DIR* const entries = ::opendir(folder.c_str());
  if (!entries) return;
  while (const dirent* const entry = ::readdir(entries)) {
    const std::string name = entry->d_name;
    if (!name.starts_with(prefix) || name.find_first_not_of("0123456789", prefix.size()) != std::string::npos) continue;
    const int left = ::openat(::dirfd(entries), entry->d_name, O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (left < 0) continue;
    if (::flock(left, LOCK_EX | LOCK_NB) == 0) ::unlinkat(::dirfd(entries), entry->d_name, 0);
    ::close(left);
  }
  ::closedir(entries);
}

}  // namespace

InputFile::InputFile(std::string path) : path_(std::move(path)) {
  descriptor_ = ::open(path_.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  struct stat status {};
  if (descriptor_ < 0 || ::fstat(descriptor_, &status) != 0) {
    const std::string reason = std::strerror(errno);
    if (descriptor_ >= 0) ::close(descriptor_);
    throw TrainerError(Exit::unreadable_input, "cannot read '" + path_ + "': " + reason);
  }
  if (!S_ISREG(status.st_mode)) {
    ::close(descriptor_);
    throw TrainerError(Exit::unreadable_input, "cannot read '" + path_ + "': not a file");
  }
  bytes_ = status.st_size;
}

InputFile::~InputFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void InputFile::read(int64_t offset, std::byte* to, int64_t bytes) const {
  while (bytes > 0) {
    const ssize_t got = ::pread(descriptor_, to, static_cast<size_t>(bytes), offset);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0)
      throw TrainerError(Exit::unreadable_input, "cannot read '" + path_ + "': " +
                                                     (got < 0 ? std::strerror(errno) : "it ends too early"));
    to += got;
    offset += got;
    bytes -= got;
  }
}

OutputFile::OutputFile(std::string path) : path_(std::move(path)) {
  // A symbolic link stays; its target is written.
  for (int links = 0; std::filesystem::is_symlink(path_) && links < 40; ++links) {
    const std::filesystem::path to = std::filesystem::read_symlink(path_);
    path_ = (std::filesystem::path(path_).parent_path() / to).string();
  }
  struct stat there {};
  if (::stat(path_.c_str(), &there) == 0 && !S_ISREG(there.st_mode)) fail("it exists and is not a file");
  const size_t name = path_.rfind('/') + 1;  // 0 without a slash
  folder_ = name == 0 ? "." : path_.substr(0, name);
  const std::string prefix = "." + path_.substr(name) + ".plimsoll-";
  sweep_staging(folder_, prefix);
  staging_ = path_.substr(0, name) + prefix + std::to_string(::getpid());
  if (::access(kOpenFiles, F_OK) == 0) descriptor_ = ::open(folder_.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
  if (descriptor_ >= 0) ::flock(descriptor_, LOCK_EX | LOCK_NB);
  else open_staging();
}

// Opens and locks the file, and checks that it still exists: another writer may have removed it in between.
void OutputFile::open_staging() {
  for (int turn = 0;; ++turn) {
    descriptor_ = ::open(staging_.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (descriptor_ < 0) fail(std::strerror(errno));
    ::flock(descriptor_, LOCK_EX | LOCK_NB);
    struct stat opened {}, there {};
    named_ =
        ::fstat(descriptor_, &opened) == 0 && ::stat(staging_.c_str(), &there) == 0 && opened.st_ino == there.st_ino;
    named_ = named_ || turn == 100;  // a file system without meaningful inode numbers
    if (named_) return;
    ::close(descriptor_);
  }
}

OutputFile::~OutputFile() {
  if (named_) ::unlink(staging_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

void OutputFile::fail(const std::string& what) const {
  throw TrainerError(Exit::unwritable_output, "cannot write '" + path_ + "': " + what);
}

void OutputFile::write(int64_t offset, const std::byte* from, int64_t bytes) {
  while (bytes > 0) {
    const ssize_t put = ::pwrite(descriptor_, from, static_cast<size_t>(bytes), offset);
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) fail(std::strerror(errno));
    from += put;
    offset += put;
    bytes -= put;
  }
}

void OutputFile::commit() {
  if (::fsync(descriptor_) != 0) fail(std::strerror(errno));
  const std::string self = std::string(kOpenFiles) + "/" + std::to_string(descriptor_);
  const auto link_as = [&](const std::string& name) {
    return ::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, name.c_str(), AT_SYMLINK_FOLLOW) == 0;
  };
  const bool linked = !named_ && link_as(path_);
  if (!linked) {
    if (!named_ && errno != EEXIST) fail(std::strerror(errno));
    // No system call replaces a file by an unnamed one.
    if (!named_ && !link_as(staging_)) fail(std::strerror(errno));
    named_ = true;
    if (::rename(staging_.c_str(), path_.c_str()) != 0) fail(std::strerror(errno));
    named_ = false;
  }
  ::close(std::exchange(descriptor_, -1));
  // The name is durable only after its directory is synced.
  const int folder = ::open(folder_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace plimsoll::train
