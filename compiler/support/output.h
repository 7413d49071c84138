// Files and directories that appear whole or not at all: written under a temporary name, synced, renamed.
// Errors: unwritable_output, with what the system said; nothing is left behind. Nor by Ctrl-C, which waits until what is
// half written is removed, or whole.
#pragma once

#include <csignal>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/support/status.h"

namespace plimsoll {

Status write_file(const std::string& path, std::string_view contents);
Result<std::string> read_file(const std::string& path);

// Holds SIGINT, SIGTERM and SIGHUP back while it lives; what came meanwhile ends the process when the last one dies.
class SignalsWait {
 public:
  SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  ~SignalsWait();
  static bool pending();

 private:
  sigset_t before_;
};

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
  std::unique_ptr<SignalsWait> signals_;  // dies last
  std::string target_, staging_;
  int lock_ = -1;
};

}  // namespace plimsoll
