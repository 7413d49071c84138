// What kernels cost on this machine: every algorithm with its exact workspace and, if wanted, its measured time. The
// other half of compiler/costs/: tasks.json comes in, profile.json goes out, and nothing else joins the two worlds.
//
//   tasks.json    {"schema": 1, "threads": 2, "tasks": [
//                   {"signature": "ReluForward{} …", "kernel": "ReluForward", "attributes": {"pads": [1,1,1,1]},
//                    "operands": [{"access": "read", "type": "f32", "dims": [8,16], "layout": "plain"}]}]}
//   profile.json  {"schema": 1, "device": "…", "libraries": {"onednn": "2.6.3"}, "threads": 2, "tasks": [
//                   {"signature": "…", "algorithms": [
//                     {"name": "default", "workspace_bytes": 0, "deterministic": true, "seconds": 1e-5}]},
//                   {"signature": "…", "error": "what the backend cannot do"}]}
//
// `seconds` is there only when it was measured.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/profile/kernel_registry.h"

namespace plimsoll::profile {

// One entry of tasks.json. Throws std::runtime_error, naming the entry's part that is wrong.
KernelCall read_call(const nlohmann::json& task);

// Device, libraries and threads: what the figures hold for.
nlohmann::json describe();

// profile.json for tasks.json. A kernel that cannot be built gets an "error"; the others are not disturbed.
// `progress` is called after each task with how many are done.
nlohmann::json profile(const nlohmann::json& tasks, bool measure, void (*progress)(size_t done, size_t all));

}  // namespace plimsoll::profile
