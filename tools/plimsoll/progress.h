// One line that is written over and over while something takes long. For terminals only: a log gets nothing of it.
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
