// The command line is looked at before LLVM reads it: what is wrong is one error, in our words, with what was given and what should be.
#pragma once

#include <span>
#include <string_view>

#include "compiler/support/status.h"
#include "tools/plimsoll/commands.h"

namespace plimsoll {

// `arguments`: those behind the subcommand's name. Error: usage, of the first thing that is wrong.
Status check_command_line(const Command& command, const Commands& commands, std::span<const std::string_view> arguments);

}  // namespace plimsoll
