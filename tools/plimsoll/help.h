// What --help and `plimsoll help` print, made from the table of options: in groups, what matters most first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/plimsoll/option_table.h"

namespace plimsoll {

// A heading and the options below it, in their order.
struct OptionGroup {
  std::string title;
  std::vector<OptionRow> options;
};

// The command's options, each in one group. One that help.cpp does not name is in the last group.
std::vector<OptionGroup> grouped_options(const CommandRow& command);

std::string general_help(const std::vector<CommandRow>& commands);
std::string command_help(const CommandRow& command);

}  // namespace plimsoll
