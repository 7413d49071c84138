// The text of --help and `plimsoll help`, generated from the table of options: in groups, the most important first.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/plimsoll/option_table.h"

namespace plimsoll {

// A heading and its options, in order.
struct OptionGroup {
  std::string title;
  std::vector<OptionRow> options;
};

// The command's options, each in one group. Options that help.cpp does not list are in the last group.
std::vector<OptionGroup> grouped_options(const CommandRow& command);

std::string general_help(const std::vector<CommandRow>& commands);
std::string command_help(const CommandRow& command);

}  // namespace plimsoll
