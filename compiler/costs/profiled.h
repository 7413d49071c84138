// Costs from a profiler of the runtime world, run as a program of its own: workspaces are exact; times are measured, or
// modelled from a device's figures where measuring is not wanted.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>

#include "compiler/costs/cache.h"
#include "compiler/costs/device.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

struct ProfiledOptions {
  std::string target = "host";
  std::string profiler = {};         // path; "": $PLIMSOLL_PROFILER, else that of find_profiler.h
  int64_t threads = 1;               // of the trainer to be
  bool measure = true;               // where `only_if_none`, only if there is a device at hand
  Arithmetic arithmetic = {};
  Device device = {};                // for modelled times; its figures must be given when `measure` is false
  std::string elsewhere = {};        // a device that the profiler knows by this name: its workspaces, without `measure`
  bool only_if_none = false;         // `elsewhere` is meant where there is no device at hand
  std::string cache_directory = {};  // "": nothing is kept
  bool remeasure = false;            // what is kept is measured again, and replaced
  std::string profile_file = {};     // a profile.json to take figures from; what it lacks is measured where it was made
  std::string spill_directory = {};  // where the host pool's file is measured; "": the directory for temporary files
  bool show_progress = false;        // of the profiler, on stderr
  std::function<void(size_t tasks)> before_measuring = {};  // called with how many are to be measured, if any
  // Called where other processes disturbed the measurement of some of the tasks that a plan asks for.
  std::function<void(size_t disturbed, size_t tasks)> after_disturbed = {};
};

class ProfiledCosts final : public Costs {
 public:
  // Measures the links, where that is wanted and not known yet.
  // Error: environment, when the profiler cannot be run; unreadable_input, for the profile file.
  static Result<std::unique_ptr<ProfiledCosts>> open(const ProfiledOptions& options);

  // Runs the profiler once for all tasks that are not known yet.
  // Error: environment, when it fails or cannot do a task, with the tasks as notes; or when a profile of another machine
  // lacks some.
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;

  bool measures() const override { return options_.measure; }
  bool admits_nondeterministic() const override { return options_.arithmetic.nondeterministic; }

  // As measured beside busy kernels, to a pool in memory; else from the device's figures.
  LinkRates links() const override;

  // What a process takes of the device's memory before it asks for any; 0: not measured.
  int64_t process_bytes() const { return links_ ? links_->process_bytes : 0; }

  // All that is known by now. Plan.device, .libraries and .costs are made from it.
  const Profile& profile() const { return profile_; }
  // The tasks of every prepare() so far, by signature, as a file.
  ProfileFile file() const;
  const char* kind() const { return options_.measure ? "profiled" : "modelled"; }

 private:
  ProfiledCosts(const ProfiledOptions& options, const ProfileFile& made_by, const std::string& identity);
  Status ask(const Question& question);
  Status ask_for_links();
  Status ask_for(std::map<std::string, std::string> entries);  // by signature
  void learn(std::vector<ProfiledTask> tasks);
  void remember(const ProfiledTask& profiled, const Task& task, int64_t samples);

  ProfiledOptions options_;
  CostCache cache_;
  Profile profile_;
  std::map<std::string, ProfiledTask> known_;  // from the profiler, the file and the cache, by signature
  std::optional<MeasuredLinks> links_;
  bool elsewhere_ = false;  // the profile file is of another machine: nothing can be added to it here
};

}  // namespace plimsoll
