// What somebody may have meant who typed a name that there is not.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace plimsoll {

// Of `names` the one that is `given` but for case, dashes and underscores; or nearest, if at most a third of its letters differ.
std::optional<std::string> nearest_name(std::string_view given, const std::vector<std::string>& names);

// The option's name that others call so: "batch-size" is "batch".
std::optional<std::string> option_called(std::string_view name);

// An option of the trainer, which compile does not have: "lr".
bool is_of_trainer(std::string_view name);
// Whether a value follows it: "--lr 0.1", but "--flip".
bool takes_value_in_trainer(std::string_view name);

// All options of the trainer, by name.
std::vector<std::string> trainer_flags();

// The option of the trainer whose name is nearest, if at most a third of its letters differ.
std::optional<std::string> nearest_trainer_flag(std::string_view given);

// The value that others call so: of --loss, "cross-entropy" is "softmax-cross-entropy".
std::optional<std::string> value_called(std::string_view option, std::string_view value);

// The subcommand that others call so: "build" is "compile".
std::optional<std::string> command_called(std::string_view name);

}  // namespace plimsoll
