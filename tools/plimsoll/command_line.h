// Checks the command line before LLVM parses it, so that each mistake gives one clear error with a suggestion.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/status.h"
#include "tools/plimsoll/commands.h"

namespace plimsoll {

// `arguments`: those after the subcommand's name. Error: usage, for the first mistake.
Status check_command_line(const Command& command, const Commands& commands,
                          std::span<const std::string_view> arguments);

// Divides the arguments of a command that takes_trainer_flags into own_arguments and trainer_arguments, before LLVM
// parses them. Options of the trainer and everything after "--" are the trainer's. An option that both have is the
// command's.
void split_trainer_flags(Command& command, std::span<const std::string_view> arguments);

// The name in "--batch", "-o" and "-batch=8"; "" if the argument is not an option.
std::string_view option_name(std::string_view argument);

// The arguments as a shell command line, quoted where needed.
std::string for_shell(const std::vector<std::string>& arguments);

}  // namespace plimsoll
