#include "runtime/train/file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "runtime/train/error.h"

namespace plimsoll::train {

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

OutputFile::OutputFile(std::string path)
    : path_(std::move(path)), temporary_(path_ + ".tmp-" + std::to_string(::getpid())) {
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor_ < 0)
    throw TrainerError(Exit::unwritable_output, "cannot write '" + path_ + "': " + std::strerror(errno));
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
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
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail(std::strerror(errno));
  ::close(descriptor_);
  descriptor_ = -1;
  // The name is on the disk only when its directory is.
  const size_t slash = path_.rfind('/');
  const std::string directory = slash == std::string::npos ? "." : path_.substr(0, slash + 1);
  const int folder = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) return;
  ::fsync(folder);
  ::close(folder);
}

}  // namespace plimsoll::train
