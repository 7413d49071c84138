// Files and directories that appear complete or not at all: written under a temporary name, synced, renamed. Errors:
// unwritable_output, with the system's message; nothing is left behind. Ctrl-C waits until partial output is removed or
// complete.
#pragma once

#include <csignal>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "compiler/support/status.h"

namespace plimsoll {

Status write_file(const std::string& path, std::string_view contents);
// The same with contents that come in parts. `next` returns the next one, valid until the next call; empty: the end.
Status write_file(const std::string& path, const std::function<std::string_view()>& next);
Result<std::string> read_file(const std::string& path);

// Blocks SIGINT, SIGTERM and SIGHUP during its lifetime. A signal received meanwhile ends the process when the last
// object is destroyed.
class SignalsWait {
 public:
  SignalsWait();
  SignalsWait(const SignalsWait&) = delete;
  ~SignalsWait();
  static bool pending();

 private:
  sigset_t before_;
};

// A directory under construction. The destructor removes it unless commit() succeeded.
class OutputDirectory {
 public:
  // Refuses a non-empty directory without our manifest.json, unless `force`, and one that another compile is writing.
  static Result<OutputDirectory> create(const std::string& path, bool force);
  OutputDirectory(OutputDirectory&& other) noexcept;
  OutputDirectory& operator=(OutputDirectory&&) = delete;
  ~OutputDirectory();

  // The path at which another component must write a file.
  std::string path_of(std::string_view name) const;
  Status write(std::string_view name, std::string_view contents);
  // Replaces the target directory; only the build tree of the old one is kept.
  Status commit();

 private:
  OutputDirectory(std::string target, std::string staging, int lock);
  std::unique_ptr<SignalsWait> signals_;  // destroyed last
  std::string target_, staging_;
  int lock_ = -1;
};

}  // namespace plimsoll
