// The two files that join the compiler and a profiler; docs/profile-format.md states their form.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/profile.h"

namespace plimsoll {

// Entries of tasks.json for the tasks of a graph, by signature.
std::map<std::string, std::string> task_entries(const TaskGraph& graph, int64_t samples);

// What a trainer is to compute with: which algorithms come into question.
struct Arithmetic {
  bool tf32 = false;              // multiplications may be done in TF32
  bool nondeterministic = false;  // two runs may differ in their bits
  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

// tasks.json.
struct Question {
  std::vector<std::string> tasks = {};  // entries
  int64_t threads = 1;
  Arithmetic arithmetic = {};
  std::string spill_directory = {};  // with one, the links are measured too, the spill file in it
  double seconds = 0;                // above 0: when so many are over, the answer is what is known by then
  size_t done = 0;                   // tasks that others like this one asked for before: a bar goes on behind them
};
std::string tasks_json(const Question& question);

struct ProfiledTask {
  std::string signature;
  std::vector<AlgorithmCost> algorithms;  // in the backend's order, the default first; empty: see error
  std::string error;
  bool disturbed() const;  // one of the algorithms is
};

// Copies between the arena and a host pool, as they were measured.
struct MeasuredLink {
  double alone_d2h = 0, alone_h2d = 0;    // bytes per second, nothing else running
  double beside_d2h = 0, beside_h2d = 0;  // both directions at once, beside a kernel that keeps the device busy
  double slowdown = 0;                    // what that kernel's time grew by: 0.5 is half as long again
};

// What is measured once for all tasks.
struct MeasuredLinks {
  MeasuredLink ram;
  std::optional<MeasuredLink> spill = {};  // where the host pool may be a file
  double latency_seconds = 0;              // of handing a copy to another thread, or to the device's copy engine
  double launch_seconds = 0;               // of any task, however small; 0: not measured
  bool disturbed = false;                  // other processes used the processors meanwhile
  int64_t process_bytes = 0;               // of the device's memory: what a process takes before it asks for any; 0: likewise
};

struct ProfileFile {
  std::string device;
  std::map<std::string, std::string> libraries = {};
  int64_t threads = 0;
  bool tf32 = false;  // algorithms in TF32 were among those that came into question
  std::optional<MeasuredLinks> links = {};
  std::vector<ProfiledTask> tasks = {};
};

// Seconds of algorithms that were not measured are 0. Error: unreadable_input, saying what is wrong.
Result<ProfileFile> parse_profile(std::string_view text);
// The same text for the same profile; a line per task.
std::string profile_json(const ProfileFile& profile);

// One task of profile.json, as a line; and back. The cache is made of these, and of one with the links.
std::string profiled_task_json(const ProfiledTask& task);
Result<ProfiledTask> parse_profiled_task(std::string_view text);
std::string links_json(const MeasuredLinks& links);  // {"links": …}
Result<MeasuredLinks> parse_links(std::string_view text);

// What ranks have measured of each other (train --measure-ranks), so many of them.
struct MeasuredRanks {
  int64_t ranks = 0;
  std::string engine = {};
  RankLink alone = {}, beside = {};  // beside: while every core is busy
};
// Error: unreadable_input, saying what is wrong.
Result<MeasuredRanks> parse_rank_rates(std::string_view text);

struct ProfilerDescription {
  std::string device;
  bool elsewhere = false;  // the device was described to the profiler: it measures nothing
  std::map<std::string, std::string> libraries;
};
Result<ProfilerDescription> parse_description(std::string_view text);

}  // namespace plimsoll
