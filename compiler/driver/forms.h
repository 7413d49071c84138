// The forms of a model that the planner chooses from (--attention auto, --recurrence auto, --loss-form auto): attention
// as the model spells it out, or a recurrent network unrolled, and either as one operator; the last layer and the loss
// in two nodes or in one.
#pragma once

#include <optional>
#include <vector>

#include "compiler/driver/beginning.h"
#include "compiler/driver/dump.h"
#include "compiler/driver/network_passes.h"
#include "compiler/ir/network.h"
#include "compiler/ir/task_graph.h"
#include "compiler/papers/rules.h"

namespace plimsoll {

struct FormOfNetwork {
  Attention attention = Attention::spelled;
  LossForm loss = LossForm::plain;
};

// The forms that are worth planning: those of the request; with `auto` both forms of a part, if the network has a part
// that can be fused. If both parts have two forms, the loss is fused only where attention is, too: for budgets that
// need it, both are the smaller form. --algorithms-of asks for the forms of its plan.
//
// Before: the passes before `fuse` have run.
Result<std::vector<FormOfNetwork>> forms_of_network(NetworkWork& work);

struct FormsOfGraph {
  std::vector<TaskGraph> graphs = {};  // the model's own form first
  // With several forms: what is dumped if the planner takes each of them. Without a dump: none.
  std::vector<PassDump> dumps = {};
};

// The task graph of the request in each form. nullopt: `dump` (nullable) has stopped before it or after it.
Result<std::optional<FormsOfGraph>> make_graphs(Beginning& beginning, NetworkWork& work, const PaperRules* as_paper,
                                                PassDump* dump);

}  // namespace plimsoll
