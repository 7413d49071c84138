// The cost of kernels on this machine: every algorithm with its exact workspace and, if requested, its measured time.
// This is the counterpart of compiler/costs/: it reads tasks.json and writes profile.json, which are the only
// connection between compiler and runtime. docs/profile-format.md defines both formats.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/profile/kernel_registry.h"

namespace plimsoll::profile {

// One entry of tasks.json. Throws std::runtime_error, which names the invalid part of the entry.
KernelCall read_call(const nlohmann::json& task);

// Device, libraries and threads: the conditions under which the figures are valid.
nlohmann::json describe();

// profile.json for tasks.json. A kernel that cannot be built gets an "error"; the others are not affected. When the
// time limit "seconds" of tasks.json, if given, has passed, the remaining tasks are omitted. `progress` is called after
// each task with the number of finished tasks.
nlohmann::json profile(const nlohmann::json& tasks, bool measure, void (*progress)(size_t done, size_t all));

}  // namespace plimsoll::profile
