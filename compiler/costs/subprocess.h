// A program that the compiler runs and waits for.
#pragma once

#include <string>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal where it was killed
  std::string output = {};
  std::string errors = {};
};

// arguments[0] is the program's path. With `show_errors` its stderr is ours, and `errors` stays empty.
// Error: environment, when it cannot be started.
Result<ProcessResult> run_process(const std::vector<std::string>& arguments, bool show_errors = false);

}  // namespace plimsoll
