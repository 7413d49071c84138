// Messages for the user, on stderr. Data goes to stdout.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/driver/messages.h"
#include "compiler/support/status.h"

namespace plimsoll {

class Console {
 public:
  explicit Console(bool quiet, bool verbose = false) : quiet_(quiet), verbose_(verbose) {}

  // Errors (with their notes) and warnings are always printed; notes and plain lines unless quiet. What is live at the
  // peak of an infeasible budget is printed if verbose.
  void error(const Error& error) const;
  void warning(std::string_view text) const;
  void note(std::string_view text) const;
  void say(std::string_view text) const;

  // If verbose: a finished step, with the seconds since the command began.
  void detail(std::string_view text) const;

  // For the messages of the compiler's driver.
  Messages messages() const;

  // Colours are used on terminals, unless NO_COLOR is set (no-color.org).
  static bool color(int file_descriptor);

 private:
  void tagged(const char* tag, const char* style, std::string_view text) const;
  bool quiet_, verbose_;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
};

// The text in lines of at most `most` characters, broken at spaces. A longer word has a line of its own.
std::vector<std::string> wrapped_lines(std::string_view text, size_t most);

}  // namespace plimsoll
