// Files and directories that appear whole or not at all: written under a temporary name, synced, renamed.
// Errors: unwritable_output, with what the system said; nothing is left behind.
#pragma once

#include <string>
#include <string_view>

#include "compiler/support/status.h"

namespace plimsoll {

Status write_file(const std::string& path, std::string_view contents);
Result<std::string> read_file(const std::string& path);

// A directory under construction. Removed by the destructor unless commit() succeeded.
class OutputDirectory {
 public:
  // Refuses a directory that is not empty and that we did not make (no manifest.json), unless `force`; and one that
  // another compile is writing right now.
  static Result<OutputDirectory> create(const std::string& path, bool force);
  OutputDirectory(OutputDirectory&& other) noexcept;
  OutputDirectory& operator=(OutputDirectory&&) = delete;
  ~OutputDirectory();

  // Where a file that somebody else writes must go.
  std::string path_of(std::string_view name) const;
  Status write(std::string_view name, std::string_view contents);
  // Puts the directory in its place; what was there before is gone afterwards, but for its build tree.
  Status commit();

 private:
  OutputDirectory(std::string target, std::string staging, int lock);
  std::string target_, staging_;
  int lock_ = -1;
};

}  // namespace plimsoll
