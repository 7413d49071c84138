// What kernels cost on this machine: every algorithm with its exact workspace and, if wanted, its measured time. The
// other half of compiler/costs/: tasks.json comes in, profile.json goes out, and nothing else joins the two worlds.
// docs/profile-format.md states the form of both.
#pragma once

#include <nlohmann/json.hpp>

#include "runtime/profile/kernel_registry.h"
#include "runtime/profile/measure.h"

namespace plimsoll::profile {

// One entry of tasks.json. Throws std::runtime_error, naming the entry's part that is wrong.
KernelCall read_call(const nlohmann::json& task);

// Device, libraries and threads: what the figures hold for.
nlohmann::json describe();

// profile.json for tasks.json. A kernel that cannot be built gets an "error"; the others are not disturbed.
// `progress` is called after each task with how many are done.
nlohmann::json profile(const nlohmann::json& tasks, bool measure, void (*progress)(size_t done, size_t all));

// Those that a plan can have a use for: each needs less workspace than all that are better. `best_first` is their order;
// equals keep the first.
struct Candidate {
  Algorithm algorithm;
  size_t order = 0;    // among all that the backend offers, as it prefers them
  Timing timing = {};  // where it was measured
};
std::vector<Candidate> pareto_front(std::vector<Candidate> best_first);

}  // namespace plimsoll::profile
