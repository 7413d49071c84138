#include "compiler/support/new_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

constexpr const char* kOpenFiles = "/proc/self/fd";
constexpr int kTurns = 100;

Error no_new_file(const std::string& path, const std::string& why) {
  return {ExitCode::unwritable_output, fmt::format("cannot write {}: {}", path, why)};
}

std::string staging_prefix(const fs::path& target) { return fmt::format(".{}.plimsoll-", target.filename().string()); }

fs::path folder_of(const fs::path& target) { return target.has_parent_path() ? target.parent_path() : fs::path("."); }

// A writer holds a lock on its file, so a file that can be locked belongs to a dead process.
void sweep_staging(const fs::path& target) {
  const std::string prefix = staging_prefix(target);
  std::error_code failure;
  for (fs::directory_iterator entry(folder_of(target), failure), end; !failure && entry != end;
       entry.increment(failure)) {
    const std::string name = entry->path().filename().string();
    if (!name.starts_with(prefix) || name.find_first_not_of("0123456789", prefix.size()) != std::string::npos) continue;
    const int left = ::open(entry->path().c_str(), O_RDWR | O_NOFOLLOW | O_CLOEXEC);
    if (left < 0) continue;
    if (::flock(left, LOCK_EX | LOCK_NB) == 0) ::unlink(entry->path().c_str());
    ::close(left);
  }
}

// Opens and locks; retries if another process removed the file in between.
int open_locked(const std::string& path) {
  for (int turn = 0;; ++turn) {
    const int file = ::open(path.c_str(), O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) return file;
    ::flock(file, LOCK_EX | LOCK_NB);
    struct stat opened {}, named {};
    if (::fstat(file, &opened) == 0 && ::stat(path.c_str(), &named) == 0 && opened.st_ino == named.st_ino) return file;
    if (turn == kTurns) return file;  // the file system's inode numbers are unreliable
    ::close(file);
  }
}

}  // namespace

NewFile::NewFile(std::string path, std::string staging, int descriptor, bool named)
    : path_(std::move(path)), staging_(std::move(staging)), descriptor_(descriptor), named_(named) {}

NewFile::NewFile(NewFile&& other) noexcept
    : path_(std::move(other.path_)),
      staging_(std::move(other.staging_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      named_(std::exchange(other.named_, false)) {}

NewFile::~NewFile() {
  if (named_) ::unlink(staging_.c_str());
  if (descriptor_ >= 0) ::close(descriptor_);
}

Result<NewFile> NewFile::create(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) return no_new_file(path, "it is a directory");
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored))
    return no_new_file(path, "it exists and is not a file");
  const fs::path target(path), folder = folder_of(target);
  sweep_staging(target);
  const std::string staging = (target.parent_path() / fmt::format("{}{}", staging_prefix(target), ::getpid())).string();
  if (::access(kOpenFiles, F_OK) == 0) {
    const int file = ::open(folder.c_str(), O_RDWR | O_TMPFILE | O_CLOEXEC, 0666);
    if (file >= 0) {
      ::flock(file, LOCK_EX | LOCK_NB);
      return NewFile(path, staging, file, false);
    }
  }
  const int file = open_locked(staging);
  if (file < 0) return no_new_file(path, std::strerror(errno));
  return NewFile(path, staging, file, true);
}

Status NewFile::failed() const { return no_new_file(path_, std::strerror(errno)); }

Status NewFile::write(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed();
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  return {};
}

Status NewFile::extend(int64_t bytes) { return ::ftruncate(descriptor_, bytes) == 0 ? Status{} : failed(); }

Status NewFile::sync() { return ::fsync(descriptor_) == 0 || errno == EINVAL ? Status{} : failed(); }

Status NewFile::appear() {
  PLIMSOLL_TRY(sync());
  if (!named_) {
    const std::string self = fmt::format("{}/{}", kOpenFiles, descriptor_);
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, path_.c_str(), AT_SYMLINK_FOLLOW) == 0) return {};
    if (errno != EEXIST) return failed();
    // No system call replaces a file by an unnamed one.
    if (::linkat(AT_FDCWD, self.c_str(), AT_FDCWD, staging_.c_str(), AT_SYMLINK_FOLLOW) != 0) return failed();
    named_ = true;
  }
  if (::rename(staging_.c_str(), path_.c_str()) != 0) return failed();
  named_ = false;
  return {};
}

}  // namespace plimsoll
