// What the planning commands share: options, and the way from a model file to checked plans.
#pragma once

#include <llvm/Support/CommandLine.h>

#include <memory>
#include <string>

#include "compiler/costs/exchange.h"
#include "compiler/import/onnx.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "compiler/training/build.h"
#include "compiler/training/loss.h"
#include "compiler/training/rules/rules.h"
#include "passes/planner.h"
#include "tools/plimsoll/console.h"

namespace plimsoll {

// What is trained, and on what: all that decides which tasks there are.
struct ModelOptions {
  explicit ModelOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<std::string> model;
  llvm::cl::opt<long long> batch;
  llvm::cl::opt<LossKind> loss;
  llvm::cl::opt<OptimizerKind> optimizer;
  llvm::cl::opt<double> momentum, weight_decay, clip_norm;
  llvm::cl::opt<bool> nesterov;
  llvm::cl::list<std::string> freeze;
  llvm::cl::opt<std::string> target, math;
  llvm::cl::opt<bool> nondeterministic;
  llvm::cl::opt<long long> threads;
  llvm::cl::list<std::string> dims;
  llvm::cl::opt<std::string> layout;
  llvm::cl::opt<bool> strict;
  llvm::cl::opt<bool> quiet;
};

// What --policy is where it is not said: the one that searches.
inline constexpr const char* kDefaultPolicy = "auto";

struct PlanningOptions : ModelOptions {
  explicit PlanningOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<long long> sub_batch;
  llvm::cl::opt<int> effort;
  llvm::cl::opt<double> time_limit;
  llvm::cl::opt<std::string> rules;
  llvm::cl::opt<std::string> costs;
  llvm::cl::opt<bool> refuse_split;
};

// Where one plan is made: under which budget, by which policy.
struct OnePlanOptions {
  explicit OnePlanOptions(llvm::cl::SubCommand& sub);

  llvm::cl::opt<std::string> budget, process_budget;
  llvm::cl::opt<std::string> policy;
  llvm::cl::opt<std::string> what_if;
  llvm::cl::opt<std::string> print_after, dump;
};

// For --policy: what it is, and the table of policies.
const std::string& policy_help(const std::string& default_name);

struct ModelAndGraph {
  ImportedModel model;
  TaskGraph graph;
};

// Imports and builds the task graph as a trainer on this machine runs it. Notes and warnings go to the console.
Result<ModelAndGraph> load_model(const ModelOptions& options, const Console& console);

// Of the trainer: as asked, or the cores of this machine.
int64_t threads_of(const ModelOptions& options);
// Which algorithms it may use.
Arithmetic arithmetic_of(const ModelOptions& options);

// A trainer runs here, so its workspaces must be this machine's; a report may be of a device that is elsewhere.
enum class PlanFor { trainer, report };

// What a trainer's process takes of the device's memory beside its arena: the context, the libraries.
struct ProcessBytes {
  int64_t bytes = 0;      // 0: the arena is the host's own memory
  bool measured = false;  // else assumed, from the device's description
};

// A model that is imported and has its task graph, to be planned as often as asked.
struct Plannable {
  ImportedModel model;
  TaskGraph graph;
  TaskGraph in_rounds;  // accumulating(graph)
  std::unique_ptr<Costs> costs;
  std::unique_ptr<Planner> planner;  // of graph and costs: what one plan needed to know serves the next
  PlanRequest request;  // all but policy and budget
  int64_t threads = 0;
  ProcessBytes process = {};
  const PaperRules* as_paper = nullptr;  // null: rules "true"

  // With several rounds each task sees one sub-batch: where a task mixes samples, something else is trained.
  bool splits_statistics(const Plan& plan) const;
};

// Imports and builds the task graph. Notes and warnings go to the console.
Result<Plannable> prepare_plans(const PlanningOptions& options, const Console& console, PlanFor purpose);

// Plans and checks. `request` is plannable.request with a policy and a budget.
Result<Plan> checked_plan(const Plannable& plannable, const PlanRequest& request);

// What all policies and budgets are measured against: the plan without a budget, of the policy that searches (of the first
// in the table, if none does).
Result<Plan> unconstrained_plan(const Plannable& plannable);

struct Planned {
  ImportedModel model;
  TaskGraph graph;  // as planned: accumulating when the plan has several rounds
  Plan plan;
  int64_t threads = 0;
  bool cut_short = false;  // --time-limit ended the search
};

// What is left to say when all has been written: time_limit where the search was cut short.
Status last_word(const Planned& planned);

// All of it for one plan; an error leaves nothing behind.
Result<Planned> plan_model(const PlanningOptions& options, const OnePlanOptions& one, const Console& console,
                           PlanFor purpose);

// The lines that sum a plan up, for the end of `compile` and `plan`.
std::string describe(const Plan& plan);

}  // namespace plimsoll
