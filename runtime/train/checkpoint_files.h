// The files of a checkpoint, written and read back with their SHA-256.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "runtime/dist/ranks.h"
#include "runtime/train/sha256.h"

namespace plimsoll::train {

// Throws TrainerError (unwritable_output) with the text of `error`, a value of errno.
[[noreturn]] void cannot_write(const std::string& path, int error);

// A new file, written from its beginning. Its SHA-256 is computed on the way. All throw TrainerError
// (unwritable_output).
class SummedFile {
 public:
  // `pulse`: of several ranks; is told of each piece that reaches the disk.
  SummedFile(std::string path, dist::Pulse* pulse);
  ~SummedFile();
  SummedFile(const SummedFile&) = delete;
  SummedFile& operator=(const SummedFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(const std::string& text) { write(std::as_bytes(std::span(text))); }
  // Syncs and closes the file. Returns its sum.
  std::string close();

 private:
  void write_piece(std::span<const std::byte> bytes);

  std::string path_;
  dist::Pulse* pulse_;
  int descriptor_;
  size_t unsynced_ = 0;
  Sha256 sum_;
};

// Throws TrainerError (unwritable_output).
void sync_directory(const std::string& path, dist::Pulse* pulse);
// Sorted. Throws TrainerError (unreadable_input).
std::vector<std::string> names_in(const std::string& directory);
// The SHA-256 of a file. Throws TrainerError (unreadable_input).
std::string sum_of(const std::string& path);

}  // namespace plimsoll::train
