// Which layouts a trainer's images have: --layout, and what decides where it is `auto`.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/messages.h"
#include "compiler/driver/request.h"
#include "compiler/ir/network.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

struct LaidOut {
  TaskGraph graph;
  std::string layout = {};  // as a plan says it: which, and why; empty where there was nothing to choose
};

// Gives the network, plain so far, its layouts, and builds its task graph. On the host a layout goes by this machine's vector units
// (`plain`: whatever they are); on a GPU by `costs`, which `source` says where they are from.
Result<LaidOut> lay_out(const PlanningRequest& request, Network& network, bool plain, Costs& costs, const std::string& source,
                        const Messages& messages);

// All task graphs whose tasks have to be measured for that.
Result<std::vector<TaskGraph>> graphs_to_measure(const ModelRequest& request, Network& network);

}  // namespace plimsoll
