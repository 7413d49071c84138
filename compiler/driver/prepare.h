// From a request to what plans are made from: the model, its task graph and its costs.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "compiler/driver/costs.h"
#include "compiler/driver/dump.h"
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
  // Without its network. For reports, the file's contents are dropped, too: weights are most of the memory and are not
  // read again.
  ImportedModel model;
  // Of the passes that made each form, by TaskGraph::forms, if there are several and dumps are wanted.
  std::map<FormsOfParts, PassDump> dumps = {};
  std::unique_ptr<Costs> costs;
  std::unique_ptr<Planner> planner;  // holds the forms of the task graph; its caches are shared by all plans
  PlanRequest request;               // everything except policy and budget
  int64_t threads = 0;
  ProcessBytes process = {};
  const PaperRules* as_paper = nullptr;  // null: rules "true"
  // --algorithms-of: the plan whose algorithms and sub-batch this plan should use.
  std::optional<Plan> algorithms_of = {};
  bool host_budget_requested = false;  // else it is a default

  // With several rounds each task sees one sub-batch. If a task mixes samples, this trains something else.
  bool splits_statistics(const Plan& plan) const;
  bool mixes_samples() const;
  // What holds for every form: the name of the model, and whether its batch may be split.
  const TaskGraph& any_graph() const { return planner->graph(); }
  // The form of a plan, of which `forms` is Plan::forms or TaskGraph::forms.
  const TaskGraph& graph_of(const FormsOfParts& forms) const { return planner->graph(forms); }
};

// Imports a model and builds its task graph, or continues from the text form of either (PlanningRequest::from). Notes
// and warnings go to `messages`.
Result<Plannable> prepare_plans(const PlanningRequest& given, const Messages& messages, PlanFor purpose);
// The same. nullopt: `dump` (nullable) has stopped at the network or the task graph.
Result<std::optional<Plannable>> prepare_until(const PlanningRequest& given, const Messages& messages, PlanFor purpose,
                                               PassDump* dump);

}  // namespace plimsoll
