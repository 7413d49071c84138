// What planning begins with: a model, or what a dump has of it (--from).
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

// `to_write`: the model will be written again, with its weights.
Result<ImportedModel> import_model(const ModelRequest& request, bool to_write);

struct Beginning {
  PlanningRequest asked;                // with the sizes that the dump says
  ImportedModel model = {};             // empty where there is a dump and no model
  std::optional<TaskGraph> graph = {};  // of a dump
  std::set<std::string> weights = {};   // that the model's file holds
};

// The dump takes the place of what its passes would make; a model beside it serves its weights.
Result<Beginning> begin_planning(const PlanningRequest& asked, PlanFor purpose, const Messages& messages);

// Every weight that a trainer reads is in the model beside the dump.
Status check_weights(const TaskGraph& graph, const Beginning& beginning);

}  // namespace plimsoll
