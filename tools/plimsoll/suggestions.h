// Suggestions for unknown names.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// The one of `names` that equals `given` except for case, dashes and underscores; or the nearest, if at most a third of
// the letters differ.
std::optional<std::string> nearest_name(std::string_view given, const std::vector<std::string>& names);

// The option for a name that other tools use: "batch" for "batch-size".
std::optional<std::string> option_called(std::string_view name);

// True for options of the trainer that compile does not have: "lr".
bool is_of_trainer(std::string_view name);
// True if the option takes a value: "--lr 0.1", but not "--flip".
bool takes_value_in_trainer(std::string_view name);

// All options of the trainer, by name.
std::vector<std::string> trainer_flags();

// The trainer's option with the nearest name, if at most a third of its letters differ.
std::optional<std::string> nearest_trainer_flag(std::string_view given);

// The value for a name that other tools use: "softmax-cross-entropy" for --loss cross-entropy.
std::optional<std::string> value_called(std::string_view option, std::string_view value);

// The subcommand for a name that other tools use: "compile" for "build".
std::optional<std::string> command_called(std::string_view name);

}  // namespace plimsoll
