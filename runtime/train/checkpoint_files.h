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

// A new file, written from its beginning. Its bytes are in the page cache afterwards, not yet on the disk. All throw
// TrainerError (unwritable_output).
class CheckpointFile {
 public:
  // `pulse` beats after each piece; null without ranks.
  CheckpointFile(std::string path, dist::Pulse* pulse);
  ~CheckpointFile();
  CheckpointFile(const CheckpointFile&) = delete;
  CheckpointFile& operator=(const CheckpointFile&) = delete;

  void write(std::span<const std::byte> bytes);
  void write(const std::string& text) { write(std::as_bytes(std::span(text))); }
  void close();

 private:
  std::string path_;
  dist::Pulse* pulse_;
  int descriptor_;
};

// Syncs a file to disk piece by piece; `pulse` beats after each. Throws TrainerError (unwritable_output).
void sync_file(const std::string& path, dist::Pulse* pulse);
// Throws TrainerError (unwritable_output).
void sync_directory(const std::string& path, dist::Pulse* pulse);
// Sorted. Throws TrainerError (unreadable_input).
std::vector<std::string> names_in(const std::string& directory);
// The SHA-256 of a file; `pulse` beats after each piece. Throws TrainerError (unreadable_input).
std::string sum_of(const std::string& path, dist::Pulse* pulse = nullptr);

}  // namespace plimsoll::train
