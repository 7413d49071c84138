// A progress line that is overwritten during long work. Only on terminals, never in logs.
#pragma once

#include <fmt/format.h>
#include <unistd.h>

#include <string>

namespace plimsoll {

class Progress {
 public:
  explicit Progress(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) != 0) {}
  ~Progress() { say(""); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void say(const std::string& what) const {
    if (shown_) fmt::print(stderr, "\r\033[K{}", what);
  }

 private:
  bool shown_;
};

}  // namespace plimsoll
