// The two files between the compiler and a profiler; docs/profile-format.md specifies them.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "compiler/ir/profile.h"

namespace plimsoll {

// Entries of tasks.json for the tasks of a graph, keyed by signature.
std::map<std::string, std::string> task_entries(const TaskGraph& graph, int64_t samples);

// The arithmetic that a trainer may use, which determines the eligible algorithms.
struct Arithmetic {
  bool tf32 = false;              // multiplications may be in TF32
  bool nondeterministic = false;  // results may differ in bits between runs
  friend bool operator==(const Arithmetic&, const Arithmetic&) = default;
};

// The contents of tasks.json.
struct Question {
  std::vector<std::string> tasks = {};  // entries
  int64_t threads = 1;
  Arithmetic arithmetic = {};
  std::string spill_directory = {};  // if set, the links are measured too, with the spill file there
  double seconds = 0;                // time limit; if above 0, the answer holds what is known by then
  size_t done = 0;                   // tasks done in earlier requests of this series, for the progress bar
};
std::string tasks_json(const Question& question);

struct ProfiledTask {
  std::string signature;
  std::vector<AlgorithmCost> algorithms;  // in the backend's order, the default first; empty: see error
  std::string error;
  bool disturbed() const;  // true if the measurement of an algorithm was disturbed
};

// Measured copies between the arena and a host pool.
struct MeasuredLink {
  double alone_d2h = 0, alone_h2d = 0;    // bytes per second, with nothing else running
  // Both directions at once, overlapping with a kernel that keeps the device busy.
  double beside_d2h = 0, beside_h2d = 0;
  double slowdown = 0;                    // relative increase of that kernel's time: 0.5 means half as long again
};

// Figures measured once for all tasks.
struct MeasuredLinks {
  MeasuredLink ram;
  std::optional<MeasuredLink> spill = {};  // if the host pool may be a file
  double latency_seconds = 0;              // of passing a copy to another thread or to the device's copy engine
  double launch_seconds = 0;               // of any task, however small; 0: not measured
  bool disturbed = false;                  // other processes used the processors during the measurement
  int64_t process_bytes = 0;  // device memory that a process takes before its first allocation; 0: not measured
};

struct ProfileFile {
  std::string device;
  std::map<std::string, std::string> libraries = {};
  int64_t threads = 0;
  bool tf32 = false;  // TF32 algorithms were eligible
  std::optional<MeasuredLinks> links = {};
  std::vector<ProfiledTask> tasks = {};
};

// Algorithms that were not measured have 0 seconds. Error: unreadable_input, with the reason.
Result<ProfileFile> parse_profile(std::string_view text);
// Deterministic, with one line per task.
std::string profile_json(const ProfileFile& profile);

// One task of profile.json as a line, and its inverse. The cache consists of such lines, and one with the links.
std::string profiled_task_json(const ProfiledTask& task);
Result<ProfiledTask> parse_profiled_task(std::string_view text);
std::string links_json(const MeasuredLinks& links);  // {"links": …}
Result<MeasuredLinks> parse_links(std::string_view text);

// Measured rates between `ranks` ranks (train --measure-ranks).
struct MeasuredRanks {
  int64_t ranks = 0;
  std::string engine = {};
  RankLink alone = {}, beside = {};  // beside: while every core is busy
};
// Error: unreadable_input, with the reason.
Result<MeasuredRanks> parse_rank_rates(std::string_view text);

struct ProfilerDescription {
  std::string device;
  bool elsewhere = false;  // the device is only described to the profiler, which measures nothing
  std::map<std::string, std::string> libraries;
};
Result<ProfilerDescription> parse_description(std::string_view text);

}  // namespace plimsoll
