// The forms of a model that the planner chooses from (--attention auto): attention as the model spells it out, and as
// one operator.
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

struct FormsOfGraph {
  std::vector<TaskGraph> graphs = {};  // the model's own form first
  // With several forms: what is dumped if the planner takes each of them. Without a dump: none.
  std::vector<PassDump> dumps = {};
};

// The task graph of the request in each form. nullopt: `dump` (nullable) has stopped before it or after it.
Result<std::optional<FormsOfGraph>> make_graphs(Beginning& beginning, NetworkWork& work, const PaperRules* as_paper,
                                                PassDump* dump);

}  // namespace plimsoll
