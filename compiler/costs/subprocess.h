// Runs a program and waits for it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/status.h"

namespace plimsoll {

struct ProcessResult {
  int exit_code = 0;  // 128 + signal if it was killed
  std::string output = {};
  std::string errors = {};
};

// arguments[0] is the program's path, `input` its stdin. With `show_errors` it inherits stderr, and `errors` stays
// empty. Error: environment, if it cannot be started; unwritable_output, if there is no space for its input.
Result<ProcessResult> run_process(const std::vector<std::string>& arguments, std::string_view input = {},
                                  bool show_errors = false);

}  // namespace plimsoll
