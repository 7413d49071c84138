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

constexpr off_t kPieceOnDisk = off_t{16} << 20;

}  // namespace

CheckpointFile::CheckpointFile(std::string path, dist::Pulse* pulse)
    : path_(std::move(path)), pulse_(pulse),
      descriptor_(::open(path_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666)) {
  if (descriptor_ < 0) cannot_write(path_, errno);
}

CheckpointFile::~CheckpointFile() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void CheckpointFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t put = ::write(descriptor_, bytes.data(), std::min(bytes.size(), static_cast<size_t>(kPieceOnDisk)));
    if (put < 0 && errno == EINTR) continue;
    if (put <= 0) cannot_write(path_, put < 0 ? errno : ENOSPC);
    bytes = bytes.subspan(static_cast<size_t>(put));
    if (pulse_) pulse_->beat();
  }
}

void CheckpointFile::close() {
  if (::close(std::exchange(descriptor_, -1)) != 0) cannot_write(path_, errno);
}

// The other ranks may be waiting, and their patience ends when nothing happens. So a slow disk is given one piece after
// another. sync_file_range() only orders the writes: fsync() makes them durable and reports their errors, among them a
// full disk.
void sync_file(const std::string& path, dist::Pulse* pulse) {
  const int file = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (file < 0) cannot_write(path, errno);
  const off_t bytes = ::lseek(file, 0, SEEK_END);
  for (off_t at = 0; at < bytes; at += kPieceOnDisk) {
    ::sync_file_range(file, at, kPieceOnDisk,
                      SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER);
    if (pulse) pulse->beat();
  }
  const int error = ::fsync(file) == 0 ? 0 : errno;
  ::close(file);
  if (error != 0) cannot_write(path, error);
  if (pulse) pulse->beat();
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

std::string sum_of(const std::string& path, dist::Pulse* pulse) {
  const InputFile file(path);
  constexpr int64_t kPiece = int64_t{1} << 20;
  std::vector<std::byte> piece(static_cast<size_t>(std::min(kPiece, std::max<int64_t>(1, file.bytes()))));
  Sha256 sum;
  for (int64_t at = 0; at < file.bytes(); at += kPiece) {
    const int64_t bytes = std::min(kPiece, file.bytes() - at);
    file.read(at, piece.data(), bytes);
    sum.add(piece.data(), bytes);
    if (pulse) pulse->beat();
  }
  return sum.hex();
}

}  // namespace plimsoll::train
