// Input and output files. Errors name the file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>

namespace plimsoll::train {

// A file for reads at any offset, from any thread. Throws TrainerError (unreadable_input).
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

// A file that appears under its name when it is complete. Until then it is unnamed (O_TMPFILE), so a killed process
// leaves nothing. It is called `.NAME.plimsoll-PID` in the same directory if the file system has no unnamed files, and
// for a moment when it replaces a file; the next writer of NAME removes what a process killed in that moment has left.
// Throws TrainerError (unwritable_output).
class OutputFile {
 public:
  // Refuses to replace anything but a regular file.
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
  bool named_ = false;  // it has the name staging_
};

}  // namespace plimsoll::train
