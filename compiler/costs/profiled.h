// Costs from a profiler of the runtime, run as a separate process. Workspaces are exact. Times are measured, or
// modelled from a device's figures if measuring is not wanted.
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
  std::string profiler = {};         // path; "": $PLIMSOLL_PROFILER, else the path of find_profiler.h
  int64_t threads = 1;               // of the trainer
  bool measure = true;               // with `only_if_none`: only if there is a device
  Arithmetic arithmetic = {};
  Device device = {};                // for modelled times; required if `measure` is false
  std::string elsewhere = {};  // a device that the profiler knows by this name: exact workspaces without `measure`
  bool only_if_none = false;         // use `elsewhere` only if there is no device
  std::string cache_directory = {};  // "": no cache
  bool remeasure = false;            // measure cached entries again and replace them
  // A profile.json to take costs from; missing ones are measured on the machine that made it.
  std::string profile_file = {};
  std::string spill_directory = {};  // where to measure the spill file; "": the directory for temporary files
  bool show_progress = false;        // show the profiler's progress on stderr
  std::function<void(size_t tasks)> before_measuring = {};  // called with the number of tasks before any are measured
  // Called if other processes disturbed the measurement of some of the tasks that a plan needs.
  std::function<void(size_t disturbed, size_t tasks)> after_disturbed = {};
};

class ProfiledCosts final : public Costs {
 public:
  // Measures the links, if wanted and unknown. Error: environment, if the profiler cannot be run; unreadable_input, for
  // the profile file.
  static Result<std::unique_ptr<ProfiledCosts>> open(const ProfiledOptions& options);

  // Runs the profiler once for all unknown tasks. Error: environment, if it fails or does not support a task, with the
  // tasks as notes; or if a profile of another machine lacks tasks.
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  Status expect(const TaskGraph& graph, std::span<const int64_t> samples) override;
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;

  bool measures() const override { return options_.measure; }
  bool admits_nondeterministic() const override { return options_.arithmetic.nondeterministic; }

  // Measured while kernels are running, to a pool in memory; else from the device model.
  LinkRates links() const override;

  // Device memory that a process takes before its first allocation; 0: not measured.
  int64_t process_bytes() const { return links_ ? links_->process_bytes : 0; }

  // Everything known so far. Plan.device, .libraries and .costs are derived from it.
  const Profile& profile() const { return profile_; }
  // The tasks of all prepare() calls so far, by signature, as a file.
  ProfileFile file() const;
  const char* kind() const { return options_.measure ? "profiled" : "modelled"; }

 private:
  ProfiledCosts(const ProfiledOptions& options, const ProfileFile& made_by, const std::string& identity);
  Status ask(const Question& question);
  Status ask_for_links();
  void add_unknown(const TaskGraph& graph, int64_t samples, std::map<std::string, std::string>& unknown) const;
  Status ask_for(std::map<std::string, std::string> entries);  // by signature
  void learn(std::vector<ProfiledTask> tasks);
  void remember(const ProfiledTask& profiled, const Task& task, int64_t samples);

  ProfiledOptions options_;
  CostCache cache_;
  Profile profile_;
  std::map<std::string, ProfiledTask> known_;  // from the profiler, the file and the cache, by signature
  std::optional<MeasuredLinks> links_;
  bool elsewhere_ = false;  // the profile file comes from another machine, so nothing can be added here
};

}  // namespace plimsoll
