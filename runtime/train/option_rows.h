// The trainer's options, one row each. A row has the help text of the option and the function that parses its value.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "runtime/train/options.h"

namespace plimsoll::train {

// A row without `set` is a heading.
struct OptionRow {
  std::string_view name;
  std::string_view value;  // "": a flag; "[=…]": the value is optional
  std::string_view help;   // lines are separated by \n
  void (*set)(Options& options, std::string_view name, std::string_view value) = nullptr;

  bool value_is_optional() const { return value.starts_with('['); }
};

// In the order of --help.
std::span<const OptionRow> option_rows();

// Refuses options that contradict each other or have no effect together; `names`: those that were given. Throws
// TrainerError (usage).
void check_together(const Options& options, const std::vector<std::string_view>& names);

}  // namespace plimsoll::train
