// Where the times of a plan come from: --costs, and for the bytes of a process, --process-budget.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "compiler/driver/messages.h"
#include "compiler/driver/request.h"
#include "compiler/support/status.h"
#include "passes/planner.h"

namespace plimsoll {

// Where times come from: what --costs says; or, where it says nothing, what is best for the purpose (docs/decisions/costs.md).
struct CostSource {
  enum class Kind {
    modelled,          // as this machine's description has it; of cuda, as an H200's
    profiled,          // measured here
    profiled_if_here,  // measured, where there is a device at hand; else modelled
    file,              // measured, here or elsewhere, by `plimsoll profile`
    device,            // modelled, of a device by name
  } kind;
  std::string name = {};  // of the file or the device

  bool names_a_device() const { return kind == Kind::device; }
  bool names_a_file() const { return kind == Kind::file; }
};
// The one place that reads --costs.
CostSource costs_of(const PlanningRequest& request, PlanFor purpose);

// What a trainer's process takes of the device's memory beside its arena: the context, the libraries.
struct ProcessBytes {
  int64_t bytes = 0;      // 0: the arena is the host's own memory
  bool measured = false;  // else assumed, from the device's description
};

struct OpenedCosts {
  std::unique_ptr<Costs> costs = nullptr;
  // Times without workspaces, where they are modelled: what decides before there is a task graph need not ask the profiler, too.
  std::unique_ptr<Costs> model = nullptr;
  std::string source = {};  // "profiled" or "modelled", as a plan says
  std::string device = {};
  std::map<std::string, std::string> libraries = {};
  int64_t threads = 0;  // of the trainer: a profile holds for so many
  ProcessBytes process = {};

  Costs& of_layouts() const { return model ? *model : *costs; }
};

// "profiled" and "modelled" ask the profiler, for exact workspaces at least. A file was made by it, here or elsewhere, and
// says for how many threads. A device's name: the host's profiler gives workspaces for a trainer that is to run here, and is
// not asked for a report of a device that is elsewhere; that of cuda lists workspaces for any device that it knows.
// What has to be measured is announced.
Result<OpenedCosts> open_costs(const PlanningRequest& request, PlanFor purpose, const Messages& messages);

// What a plan's host pool may take, and where that is from if nobody asked for it.
struct HostBudget {
  int64_t bytes = kNoLimit;
  std::string source = {};
};
// Of --host-budget; without it, half of what this machine has available where the plan is for it.
Result<HostBudget> host_budget_of(const PlanningRequest& request, PlanFor purpose);

// What is left for the arena of what nvidia-smi would show of the whole process.
Result<int64_t> arena_within(int64_t process_budget, const ProcessBytes& process, const Messages& messages);

}  // namespace plimsoll
