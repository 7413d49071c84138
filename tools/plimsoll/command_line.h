// The command line is looked at before LLVM reads it: what is wrong is one error, in our words, with what was given and what should be.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/support/status.h"
#include "tools/plimsoll/commands.h"

namespace plimsoll {

// `arguments`: those behind the subcommand's name. Error: usage, of the first thing that is wrong.
Status check_command_line(const Command& command, const Commands& commands, std::span<const std::string_view> arguments);

// Before LLVM reads them, divides the arguments of a command that takes_trainer_flags into own_arguments and
// trainer_arguments. Options of the trainer and everything behind "--" are the trainer's. An option that both have is
// the command's.
void split_trainer_flags(Command& command, std::span<const std::string_view> arguments);

// The name in "--batch", "-o" and "-batch=8"; empty where the argument is no option.
std::string_view option_name(std::string_view argument);

// The arguments as a line for a shell, quoted where that is needed.
std::string for_shell(const std::vector<std::string>& arguments);

}  // namespace plimsoll
