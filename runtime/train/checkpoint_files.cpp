#include "runtime/train/checkpoint_files.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <utility>

#include "runtime/train/error.h"
#include "runtime/train/file.h"

namespace plimsoll::train {

void cannot_write(const std::string& path, int error) {
  throw TrainerError(Exit::unwritable_output, "cannot write '" + path + "': " + std::strerror(error));
}

namespace {

constexpr size_t kPieceOnDisk = size_t{16} << 20;

}  // namespace

SummedFile::SummedFile(std::string path, dist::Pulse* pulse)
    : path_(std::move(path)), pulse_(pulse),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) cannot_write(path_, errno);
}

SummedFile::~SummedFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SummedFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const std::span<const std::byte> piece = bytes.first(std::min(bytes.size(), kPieceOnDisk));
    write_piece(piece);
    bytes = bytes.subspan(piece.size());
  }
}

// A file system may report a full disk only here.
std::string SummedFile::close() {
  if (::fsync(descriptor_) != 0) cannot_write(path_, errno);
  if (::close(std::exchange(descriptor_, -1)) != 0) cannot_write(path_, errno);
  if (pulse_) pulse_->beat();
  return sum_.hex();
}

void SummedFile::write_piece(std::span<const std::byte> bytes) {
  sum_.add(bytes.data(), static_cast<int64_t>(bytes.size()));
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), bytes.size());
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) cannot_write(path_, put < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(put));
    unsynced_ += static_cast<size_t>(put);
  }
  if (!pulse_) return;
  // The other ranks wait, and their patience ends when nothing happens. So a slow disk syncs the file piece by piece.
  if (unsynced_ >= kPieceOnDisk) {
    if (::fdatasync(descriptor_) != 0) cannot_write(path_, errno);
    unsynced_ = 0;
  }
  pulse_->beat();
}

void sync_directory(const std::string& path, dist::Pulse* pulse) {
  const int folder = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0) cannot_write(path, errno);
  const int error = ::fsync(folder) == 0 ? 0 : errno;
  ::close(folder);
  if (error != 0 && error != EINVAL) cannot_write(path, error);  // EINVAL: the file system cannot sync a directory
  if (pulse) pulse->beat();
}

std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  DIR* const folder = ::opendir(directory.c_str());
  if (!folder) throw TrainerError(Exit::unreadable_input, "cannot read '" + directory + "': " + std::strerror(errno));
  while (const dirent* entry = ::readdir(folder)) names.emplace_back(entry->d_name);
  ::closedir(folder);
  std::sort(names.begin(), names.end());
  return names;
}

std::string sum_of(const std::string& path) {
  const InputFile file(path);
  constexpr int64_t kPiece = int64_t{1} << 20;
  std::vector<std::byte> piece(static_cast<size_t>(std::min(kPiece, std::max<int64_t>(1, file.bytes()))));
  Sha256 sum;
  for (int64_t at = 0; at < file.bytes(); at += kPiece) {
    const int64_t bytes = std::min(kPiece, file.bytes() - at);
    file.read(at, piece.data(), bytes);
    sum.add(piece.data(), bytes);
  }
  return sum.hex();
}

}  // namespace plimsoll::train
