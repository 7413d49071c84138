// The forms of a model that the planner chooses from (--attention auto, --recurrence auto): attention as the model
// spells it out, or a recurrent network unrolled, and either as one operator. A model that has both has the choice of
// its recurrence only.
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

// The forms that are worth planning: that of the request; with `auto` both, if the network spells out attention that
// can be fused. --algorithms-of asks for the form of its plan.
//
// Before: the passes before `fuse` have run.
Result<std::vector<Attention>> forms_of_attention(NetworkWork& work);

// Of a model whose recurrence has two forms: what --attention asks for, and with `auto` fused.
Attention attention_beside_recurrence(const ModelRequest& request);

struct FormsOfGraph {
  std::vector<TaskGraph> graphs = {};  // the model's own form first
  // With several forms: what is dumped if the planner takes each of them. Without a dump: none.
  std::vector<PassDump> dumps = {};
};

// The task graph of the request in each form. nullopt: `dump` (nullable) has stopped before it or after it.
Result<std::optional<FormsOfGraph>> make_graphs(Beginning& beginning, NetworkWork& work, const PaperRules* as_paper,
                                                PassDump* dump);

}  // namespace plimsoll
