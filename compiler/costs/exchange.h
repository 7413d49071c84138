// The two files that join the compiler and a profiler; runtime/profile/profiler.h states their form.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/profile.h"

namespace plimsoll {

// One task of tasks.json, under its signature.
std::string task_json(const Task& task, int64_t samples);

// tasks.json of such entries.
std::string tasks_json(const std::vector<std::string>& tasks, int64_t threads);

struct ProfiledTask {
  std::string signature;
  std::vector<AlgorithmCost> algorithms;  // in the backend's order, the default first; empty: see error
  std::string error;
};

// Seconds of algorithms that were not measured are 0. Error: unreadable_input, saying what is wrong.
Result<std::vector<ProfiledTask>> parse_profile(std::string_view text);

// One task of profile.json, as a line; and back. The cache is made of these.
std::string profiled_task_json(const ProfiledTask& task);
Result<ProfiledTask> parse_profiled_task(std::string_view text);

struct ProfilerDescription {
  std::string device;
  std::map<std::string, std::string> libraries;
};
Result<ProfilerDescription> parse_description(std::string_view text);

}  // namespace plimsoll
