// The starting point of planning: a model, or a dump (--from).
#pragma once

#include <optional>
#include <set>
#include <string>

#include "compiler/driver/costs.h"
#include "compiler/driver/messages.h"
#include "compiler/driver/request.h"
#include "compiler/import/onnx.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// A model, and its network with fused recurrence, if the request leaves the choice to the planner and there is one
// (Network::forms). Otherwise the recurrence of the network has the form of the request.
struct ImportedForms {
  ImportedModel model = {};
  std::optional<Network> fused = {};
};

// `to_write`: the model will be written again, with its weights.
Result<ImportedForms> import_forms(const ModelRequest& request, bool to_write);

struct Beginning {
  PlanningRequest asked;                // with the sizes given in the dump
  ImportedModel model = {};             // empty for a dump without a model
  std::optional<Network> fused = {};    // as in ImportedForms
  std::optional<TaskGraph> graph = {};  // from a dump
  std::set<std::string> weights = {};   // for a trainer: names of the weights in the model's file
};

// A dump replaces the result of its passes. A model given with it only provides the weights.
Result<Beginning> begin_planning(const PlanningRequest& asked, PlanFor purpose, const Messages& messages);

// Checks that every weight that the trainer reads is in the model given with the dump.
Status check_weights(const TaskGraph& graph, const Beginning& beginning);

}  // namespace plimsoll
