// The table of papers whose rules a plan can be built and counted under (docs/papers.md). Such plans serve for reports
// only.
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
  // Sets the summary and `rules` of a plan of that graph to what the paper counts.
  void (*count)(Plan& plan, const TaskGraph& graph) = nullptr;
  std::unique_ptr<Costs> (*costs)() = nullptr;  // of the device that the plans are for
  std::string_view device = {};
  bool splits = false;  // the paper's recipe has rounds; otherwise a round is the whole batch
};

// Null: no rules of that name.
const PaperRules* find_rules(std::string_view name);
// "true, superneurons, …"
std::string names_of_rules();

}  // namespace plimsoll
