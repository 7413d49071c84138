// The sources of a plan's costs: --costs, and --process-budget for the memory of a process.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/driver/messages.h"
#include "compiler/driver/request.h"
#include "compiler/support/status.h"
#include "passes/planner.h"

namespace plimsoll {

// The source of times: the value of --costs, or the default for the purpose (docs/decisions/costs.md).
struct CostSource {
  enum class Kind {
    modelled,          // from this machine's device model; cuda: an H200's
    profiled,          // measured here
    profiled_if_here,  // measured if there is a device here, else modelled
    file,              // measured here or elsewhere by `plimsoll profile`
    device,            // modelled, for a device by name
  } kind;
  std::string name = {};  // of the file or the device

  bool names_a_device() const { return kind == Kind::device; }
  bool names_a_file() const { return kind == Kind::file; }
};
// The only place that interprets --costs.
CostSource costs_of(const PlanningRequest& request, PlanFor purpose);

// Device memory of a trainer's process in addition to its arena: the context and the libraries.
struct ProcessBytes {
  int64_t bytes = 0;      // 0: the arena is in host memory
  bool measured = false;  // false: assumed, from the device model
};

struct OpenedCosts {
  std::unique_ptr<Costs> costs = nullptr;
  // If times are modelled: times without workspaces. Decisions before the task graph exists then need no profiler.
  std::unique_ptr<Costs> model = nullptr;
  std::string source = {};  // "profiled" or "modelled", as in a plan
  std::string device = {};
  std::map<std::string, std::string> libraries = {};
  int64_t threads = 0;  // of the trainer, to which a profile applies
  ProcessBytes process = {};

  Costs& of_layouts() const { return model ? *model : *costs; }
};

// "profiled" and "modelled" run the profiler, which gives exact workspaces in both cases. A file was made by a
// profiler, here or elsewhere, and states its number of threads. For a device's name, the host's profiler gives
// workspaces if the trainer is to run here, but is not run for a report about another device; cuda's profiler lists
// workspaces for any device that it knows. Measurements are announced.
Result<OpenedCosts> open_costs(const PlanningRequest& request, PlanFor purpose, const Messages& messages);

// The maximum size of the host pool, and its source if it is a default.
struct HostBudget {
  int64_t bytes = kNoLimit;
  std::string source = {};
};
// From --host-budget. Default: half of the available memory of this machine if the plan is for it.
Result<HostBudget> host_budget_of(const PlanningRequest& request, PlanFor purpose);

// The arena's share of a budget for the whole process, as nvidia-smi would show it.
Result<int64_t> arena_within(int64_t process_budget, const ProcessBytes& process, const Messages& messages);

}  // namespace plimsoll
