// From a request to checked plans.
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

// Imports a model and builds the task graphs that a profile must cover: several if the times decide the layout. Notes
// and warnings go to `messages`.
Result<std::vector<TaskGraph>> load_graphs(const ModelRequest& request, const Messages& messages);

// An imported model with its task graph, from which any number of plans can be made.
struct Plannable {
  // For reports; the file's contents are dropped, because weights are most of the memory and are not read again.
  ImportedModel model;
  TaskGraph graph;
  std::unique_ptr<Costs> costs;
  std::unique_ptr<Planner> planner;  // of `graph` and `costs`; its caches are shared by all plans
  PlanRequest request;  // everything except policy and budget
  int64_t threads = 0;
  ProcessBytes process = {};
  const PaperRules* as_paper = nullptr;  // null: rules "true"
  // --algorithms-of: the plan whose algorithms and sub-batch this plan should use.
  std::optional<Plan> algorithms_of = {};
  bool host_budget_requested = false;  // else it is a default

  // With several rounds each task sees one sub-batch. If a task mixes samples, this trains something else.
  bool splits_statistics(const Plan& plan) const;
  bool mixes_samples() const;
};

// Receives the network after each pass.
using NetworkObserver = std::function<void(const std::string& pass, const Network& network)>;

// Imports a model and builds its task graph, or continues from the text form of either (PlanningRequest::from). Notes
// and warnings go to `messages`.
Result<Plannable> prepare_plans(const PlanningRequest& given, const Messages& messages, PlanFor purpose,
                                const NetworkObserver& observe = {});

// Makes and checks a plan. `request`: plannable.request with a policy and a budget.
Result<Plan> checked_plan(const Plannable& plannable, const PlanRequest& request);

// The reference for all policies and budgets: the unlimited plan of the policy that searches (of the first in the
// table, if none does).
Result<Plan> unconstrained_plan(const Plannable& plannable);

struct Planned {
  ImportedModel model;
  TaskGraph graph;  // as planned: accumulating if the plan has several rounds
  Plan plan;
  int64_t threads = 0;
  bool cut_short = false;  // --time-limit ended the search
};

// The final status after everything is written: time_limit if the search was cut short.
Status last_word(const Planned& planned);

// All steps for one plan; of a finished plan (PlanningRequest::from), only those that check it (given_plan.h). On an
// error nothing is left behind.
Result<Planned> plan_model(const PlanningRequest& asked, const OnePlanRequest& one, const Messages& messages,
                           PlanFor purpose);

// A note below a table of plans: how many samples batch normalization sees at once, if the model has any. `splits`: the
// table marks a plan with †.
std::string note_on_statistics(const Plannable& plannable, bool splits);

// The summary lines at the end of `compile` and `plan`.
std::string describe(const Plan& plan);

}  // namespace plimsoll
