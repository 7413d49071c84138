// Files, with errors that name them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace plimsoll::train {

// A file that is read at places of one's choice. Throws TrainerError (unreadable_input).
class InputFile {
 public:
  explicit InputFile(std::string path);
  ~InputFile();
  InputFile(InputFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), bytes_(other.bytes_) {}
  InputFile& operator=(InputFile&&) = delete;

  void read(int64_t offset, std::byte* to, int64_t bytes) const;
  int64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int descriptor_ = -1;
  int64_t bytes_ = 0;
};

// A file that appears under its name only when it is complete. Until then it has no name, so that a process that is killed leaves
// nothing; where a file system knows no files without a name, it is `.NAME.plimsoll-PID` beside it, and so for a moment where there is
// a file to be replaced. Whoever writes NAME next removes what is left of a process that was killed in that moment.
// Throws TrainerError (unwritable_output).
class OutputFile {
 public:
  // Refuses what is there and is no file: a directory, a device.
  explicit OutputFile(std::string path);
  ~OutputFile();
  OutputFile(const OutputFile&) = delete;
  OutputFile& operator=(const OutputFile&) = delete;

  void write(int64_t offset, const std::byte* from, int64_t bytes);
  void commit();

 private:
  [[noreturn]] void fail(const std::string& what) const;
  void open_staging();
  std::string path_, folder_, staging_;
  int descriptor_ = -1;
  bool named_ = false;  // lies under staging_
};

}  // namespace plimsoll::train
