// A program that the compiler runs and waits for.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal where it was killed
  std::string output = {};
  std::string errors = {};
};

// arguments[0] is the program's path, `input` its stdin. With `show_errors` its stderr is ours, and `errors` stays empty.
// Error: environment, when it cannot be started; unwritable_output, when there is no room for its input.
Result<ProcessResult> run_process(const std::vector<std::string>& arguments, std::string_view input = {}, bool show_errors = false);

}  // namespace plimsoll
