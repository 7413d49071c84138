// A file that appears under its name whole or not at all. Until then it has no name, so that a process that is killed leaves
// nothing; where a file system knows no files without a name, it is `.NAME.plimsoll-PID` beside it, and so for a moment where there is
// a file to be replaced. Whoever writes NAME next removes what is left of a process that was killed in that moment.
// Errors: unwritable_output, with what the system said.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "compiler/support/status.h"

namespace plimsoll {

class NewFile {
 public:
  // Refuses what is there and is no file: a directory, a device.
  static Result<NewFile> create(const std::string& path);
  NewFile(NewFile&& other) noexcept;
  NewFile& operator=(NewFile&&) = delete;
  ~NewFile();

  Status write(std::string_view bytes);
  // Holes as far as `bytes`.
  Status extend(int64_t bytes);
  // On the disk, so that one that is full is noticed before anything appears.
  Status sync();
  // Syncs and gives it its name, in place of what had it.
  Status appear();
  // Open for reading and writing.
  int descriptor() const { return descriptor_; }

 private:
  NewFile(std::string path, std::string staging, int descriptor, bool named);
  Status failed() const;
  std::string path_, staging_;
  int descriptor_ = -1;
  bool named_ = false;  // lies under staging_
};

}  // namespace plimsoll
