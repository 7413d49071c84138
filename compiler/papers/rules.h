// The papers whose rules a plan may be built and counted under: one row each (docs/papers.md). Such plans are for reports.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct PaperRules {
  std::string_view name = {};
  Result<TaskGraph> (*build)(const Network& network, int64_t batch) = nullptr;
  // Makes the summary and `rules` of a plan of that graph say what the paper counts.
  void (*count)(Plan& plan, const TaskGraph& graph) = nullptr;
  std::unique_ptr<Costs> (*costs)() = nullptr;  // of the device that its plans are made for
  std::string_view device = {};
  bool splits = false;  // the paper's recipe has rounds; else a round is the whole batch
};

// Null: there are none of that name.
const PaperRules* find_rules(std::string_view name);
// "true, superneurons, …"
std::string names_of_rules();

}  // namespace plimsoll
