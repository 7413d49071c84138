// The way from a request to checked plans.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/costs.h"
#include "compiler/driver/messages.h"
#include "compiler/driver/request.h"
#include "compiler/import/onnx.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"
#include "compiler/papers/rules.h"
#include "passes/planner.h"

namespace plimsoll {

// Imports, and builds the task graphs of which a profile has the times: several, where a layout is to be chosen by them. Notes and
// warnings go to `messages`.
Result<std::vector<TaskGraph>> load_graphs(const ModelRequest& request, const Messages& messages);

// A model that is imported and has its task graph, to be planned as often as asked.
struct Plannable {
  ImportedModel model;  // for a report, without the file: weights are most of the memory, and nobody reads them again
  TaskGraph graph;
  std::unique_ptr<Costs> costs;
  std::unique_ptr<Planner> planner;  // of graph and costs: what one plan needed to know serves the next
  PlanRequest request;  // all but policy and budget
  int64_t threads = 0;
  ProcessBytes process = {};
  const PaperRules* as_paper = nullptr;  // null: rules "true"
  std::optional<Plan> algorithms_of = {};  // --algorithms-of: the plan whose algorithms and sub-batch this one should have

  // With several rounds each task sees one sub-batch: where a task mixes samples, something else is trained.
  bool splits_statistics(const Plan& plan) const;
  bool mixes_samples() const;
};

// Told of the network after each pass.
using NetworkObserver = std::function<void(const std::string& pass, const Network& network)>;

// Imports and builds the task graph, or goes on from a text of either (PlanningRequest::from). Notes and warnings go to `messages`.
Result<Plannable> prepare_plans(const PlanningRequest& given, const Messages& messages, PlanFor purpose, const NetworkObserver& observe = {});

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
Result<Planned> plan_model(const PlanningRequest& asked, const OnePlanRequest& one, const Messages& messages,
                           PlanFor purpose);

// Below a table of plans: of how many samples batch normalization sees at once, where the model has any. `splits`: a plan
// of the table is marked with †.
std::string note_on_statistics(const Plannable& plannable, bool splits);

// The lines that sum a plan up, for the end of `compile` and `plan`.
std::string describe(const Plan& plan);

}  // namespace plimsoll
