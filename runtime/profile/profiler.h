// What kernels cost on this machine: every algorithm with its exact workspace and, if wanted, its measured time. The
// other half of compiler/costs/: tasks.json comes in, profile.json goes out, and nothing else joins the two worlds.
// docs/profile-format.md states the form of both.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/profile/kernel_registry.h"

namespace plimsoll::profile {

// One entry of tasks.json. Throws std::runtime_error, naming the entry's part that is wrong.
KernelCall read_call(const nlohmann::json& task);

// Device, libraries and threads: what the figures hold for.
nlohmann::json describe();

// profile.json for tasks.json. A kernel that cannot be built gets an "error"; the others are not disturbed. Behind the "seconds" of
// tasks.json, if it has any, the rest is left out. `progress` is called after each task with how many are done.
nlohmann::json profile(const nlohmann::json& tasks, bool measure, void (*progress)(size_t done, size_t all));

}  // namespace plimsoll::profile
