#include "compiler/support/output.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "compiler/support/new_file.h"

namespace plimsoll {
namespace fs = std::filesystem;
namespace {

Error cannot_write(const std::string& path, const std::string& why) {
  return {ExitCode::unwritable_output, fmt::format("cannot write {}: {}", path, why)};
}

// Writes everything and syncs, so that a full disk is detected before any rename.
Status write_and_sync(const std::string& path, std::string_view contents) {
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) return cannot_write(path, std::strerror(errno));
  int why = 0;
  while (!contents.empty() && why == 0) {
    const ssize_t written = ::write(file, contents.data(), contents.size());
    if (written >= 0) {
      contents.remove_prefix(static_cast<size_t>(written));
    } else if (errno != EINTR) {
      why = errno;
    }
  }
  if (why == 0 && fsync(file) != 0 && errno != EINVAL) why = errno;  // EINVAL: a pipe or a device
  if (close(file) != 0 && why == 0) why = errno;
  if (why == 0) return {};
  unlink(path.c_str());
  return cannot_write(path, std::strerror(why));
}

// Next to the target, under a reserved name; only the holder of the lock writes there.
std::string staging_name(const fs::path& target) {
  return (target.parent_path() / fmt::format(".{}.plimsoll", target.filename().string())).string();
}
std::string old_name(const fs::path& target) { return staging_name(target) + "-old"; }

// Keeps the build tree across compiles, so that only changed files are rebuilt.
void keep_build_tree(const fs::path& from, const fs::path& to) {
  std::error_code failure;
  if (fs::is_directory(from / "build", failure) && !fs::exists(to / "build", failure))
    fs::rename(from / "build", to / "build", failure);
}

// Removes the remains of a killed process.
void clear_away(const fs::path& target) {
  std::error_code failure;
  if (!fs::exists(target, failure)) fs::rename(old_name(target), target, failure);
  fs::remove_all(old_name(target), failure);
  keep_build_tree(staging_name(target), target);  // after the exchange it is there
  fs::remove_all(staging_name(target), failure);
}

constexpr int kHeldBack[] = {SIGINT, SIGTERM, SIGHUP};

}  // namespace

SignalsWait::SignalsWait() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : kHeldBack) sigaddset(&set, signal);
  sigprocmask(SIG_BLOCK, &set, &before_);
}

SignalsWait::~SignalsWait() { sigprocmask(SIG_SETMASK, &before_, nullptr); }

bool SignalsWait::pending() {
  sigset_t set;
  sigpending(&set);
  return std::any_of(std::begin(kHeldBack), std::end(kHeldBack),
                     [&](int signal) { return sigismember(&set, signal) == 1; });
}

Status write_file(const std::string& path, const std::function<std::string_view()>& next) {
  std::error_code ignored;
  if (fs::exists(path, ignored) && !fs::is_regular_file(path, ignored)) {
    if (fs::is_directory(path, ignored)) return cannot_write(path, "it is a directory");
    std::ofstream device(path, std::ios::binary);  // /dev/stdout, a named pipe: cannot be renamed
    for (std::string_view part = next(); device && !part.empty(); part = next()) device << part;
    return device.flush() ? Status{} : Status(cannot_write(path, std::strerror(errno)));
  }
  const SignalsWait signals;
  PLIMSOLL_ASSIGN(NewFile file, NewFile::create(path));
  for (std::string_view part = next(); !part.empty(); part = next()) PLIMSOLL_TRY(file.write(part));
  return file.appear();
}

Status write_file(const std::string& path, std::string_view contents) {
  return write_file(path, [&] { return std::exchange(contents, {}); });
}

Result<std::string> read_file(const std::string& path) {
  std::error_code failure;
  if (fs::is_directory(path, failure)) return Error{ExitCode::unreadable_input, path + " is a directory"};
  std::ifstream file(path, std::ios::binary);
  if (!file) return Error{ExitCode::unreadable_input, fmt::format("cannot read {}: {}", path, std::strerror(errno))};
  std::ostringstream contents;
  contents << file.rdbuf();
  if (file.bad()) return Error{ExitCode::unreadable_input, "cannot read " + path};
  return std::move(contents).str();
}

OutputDirectory::OutputDirectory(std::string target, std::string staging, int lock)
    : signals_(std::make_unique<SignalsWait>()),
      target_(std::move(target)),
      staging_(std::move(staging)),
      lock_(lock) {}

OutputDirectory::OutputDirectory(OutputDirectory&& other) noexcept
    : signals_(std::move(other.signals_)),
      target_(std::move(other.target_)),
      staging_(std::exchange(other.staging_, {})),
      lock_(std::exchange(other.lock_, -1)) {}

OutputDirectory::~OutputDirectory() {
  std::error_code ignored;
  if (!staging_.empty()) fs::remove_all(staging_, ignored);
  if (lock_ >= 0) {
    unlink((target_ + ".lock").c_str());
    close(lock_);
  }
}

Result<OutputDirectory> OutputDirectory::create(const std::string& path, bool force) {
  std::string target = path;
  while (target.size() > 1 && target.back() == '/') target.pop_back();
  std::error_code failure;
  if (fs::exists(target, failure)) {
    if (!fs::is_directory(target, failure)) return cannot_write(target, "it is a file, a directory is needed");
    const bool ours = fs::exists(fs::path(target) / "manifest.json", failure);
    if (!ours && !fs::is_empty(target, failure) && !force)
      return cannot_write(target,
                          "the directory is not empty and was not made by plimsoll; name another, or use --force");
  }
  const int lock = open((target + ".lock").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
  if (lock < 0) return cannot_write(target, std::strerror(errno));
  if (flock(lock, LOCK_EX | LOCK_NB) != 0) {
    close(lock);
    return cannot_write(target, "another plimsoll is writing it right now");
  }
  OutputDirectory output(target, staging_name(target), lock);
  clear_away(target);
  if (!fs::create_directory(output.staging_, failure))
    return cannot_write(target, failure ? failure.message() : "cannot make a directory beside it");
  return output;
}

std::string OutputDirectory::path_of(std::string_view name) const { return staging_ + "/" + std::string(name); }

Status OutputDirectory::write(std::string_view name, std::string_view contents) {
  // The signal ends the process once the directory is removed.
  if (SignalsWait::pending()) return cannot_write(target_, "interrupted");
  std::error_code failure;
  fs::create_directories(fs::path(path_of(name)).parent_path(), failure);
  if (failure) return cannot_write(path_of(name), failure.message());
  return write_and_sync(path_of(name), contents);
}

Status OutputDirectory::commit() {
  std::error_code failure;
  if (!fs::exists(target_, failure)) {
    fs::rename(staging_, target_, failure);
    if (failure) return cannot_write(target_, failure.message());
    staging_.clear();
    return {};
  }
  // Atomic: if the process is killed, either the old or the new directory is there. Some network file systems do not
  // support the exchange.
  if (renameat2(AT_FDCWD, staging_.c_str(), AT_FDCWD, target_.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS) return cannot_write(target_, std::strerror(errno));
    const std::string old = old_name(target_);
    fs::rename(target_, old, failure);
    if (failure) return cannot_write(target_, failure.message());
    fs::rename(staging_, target_, failure);
    if (failure) {
      const std::string why = failure.message();
      fs::rename(old, target_, failure);
      return cannot_write(target_, why);
    }
    staging_ = old;
  }
  keep_build_tree(staging_, target_);  // the rest of the old directory is removed with the staging directory
  return {};
}

}  // namespace plimsoll
