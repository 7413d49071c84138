// The subcommands, one file each.
#pragma once

#include <memory>
#include <vector>

#include "tools/plimsoll/command.h"

namespace plimsoll {

std::unique_ptr<Command> train_command();
std::unique_ptr<Command> compile_command();
std::unique_ptr<Command> plan_command();
std::unique_ptr<Command> compare_command();
std::unique_ptr<Command> frontier_command();
std::unique_ptr<Command> inspect_command();
std::unique_ptr<Command> verify_command();
std::unique_ptr<Command> model_command();
std::unique_ptr<Command> export_command();
std::unique_ptr<Command> operators_command();
std::unique_ptr<Command> place_command();
std::unique_ptr<Command> profile_command();
std::unique_ptr<Command> cache_command();
std::unique_ptr<Command> diff_command();
std::unique_ptr<Command> runs_command();
std::unique_ptr<Command> doctor_command();

// These describe the other commands. `commands` is referenced, and may still grow.
using Commands = std::vector<std::unique_ptr<Command>>;
std::unique_ptr<Command> completion_command(const Commands& commands);
std::unique_ptr<Command> man_command(const Commands& commands);
std::unique_ptr<Command> help_command(const Commands& commands);

// The error "'compil' is not a subcommand", with a suggestion.
Error unknown_command(const std::string& name, const Commands& commands);

}  // namespace plimsoll
