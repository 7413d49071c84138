// Atomic file creation: a file appears under its name complete or not at all. Until then it is unnamed, so a killed
// process leaves nothing behind. On a file system without unnamed files, and briefly when an existing file is replaced,
// it is named `.NAME.plimsoll-PID` in the same directory. The next writer of NAME removes such a file of a killed
// process. Errors: unwritable_output, with the system's message.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/support/status.h"

namespace plimsoll {

class NewFile {
 public:
  // Refuses to replace anything but a file: a directory, a device.
  static Result<NewFile> create(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Status write(std::string_view bytes);
  // Extends the file to `bytes` with holes.
  Status extend(int64_t bytes);
  // Flushes to disk, so that a full disk is detected before the file appears.
  Status sync();
  // Syncs, then gives the file its name, replacing any other file.
  Status appear();
  // Open for reading and writing.
  int descriptor() const { return descriptor_; }

 private:
  NewFile(std::string path, std::string staging, int descriptor, bool named);
  Status failed() const;
  std::string path_, staging_;
  int descriptor_ = -1;
  bool named_ = false;  // has the name staging_
};

}  // namespace plimsoll
