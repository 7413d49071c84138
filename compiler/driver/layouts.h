// The memory layouts of a trainer's images: --layout, and the choice for `auto`.
#pragma once

#include <string>
#include <vector>

#include "compiler/driver/messages.h"
#include "compiler/driver/request.h"
#include "compiler/ir/network.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// Chooses the layouts of a network, which is plain so far, and notes the choice in it. On the host, the layout depends
// on this machine's vector units (`plain`: ignore them). On a GPU it depends on `costs`, which come from `source`.
void lay_out(const PlanningRequest& request, Network& network, bool plain, Costs& costs, const std::string& source,
             const Messages& messages);

// All task graphs whose tasks must be measured for this choice.
Result<std::vector<TaskGraph>> graphs_to_measure(const ModelRequest& request, Network& network);

}  // namespace plimsoll
