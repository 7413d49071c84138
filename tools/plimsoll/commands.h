// The subcommands, one file each.
#pragma once

#include <memory>

#include "tools/plimsoll/command.h"

namespace plimsoll {

std::unique_ptr<Command> compile_command();
std::unique_ptr<Command> plan_command();
std::unique_ptr<Command> compare_command();
std::unique_ptr<Command> frontier_command();
std::unique_ptr<Command> inspect_command();
std::unique_ptr<Command> verify_command();
std::unique_ptr<Command> model_command();
std::unique_ptr<Command> place_command();
std::unique_ptr<Command> profile_command();

}  // namespace plimsoll
