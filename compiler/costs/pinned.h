// Pins another plan's algorithms, for --algorithms-of. Weights get the same bits under two budgets only if both plans
// have the same sub-batch and run every task by the same algorithm (law 6). A free planner takes an algorithm with a
// smaller workspace when the budget is tight; pins prevent that.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

// Task name → algorithm.
using AlgorithmPins = std::map<std::string, std::string>;

// The algorithm of each task that the plan's steps run.
AlgorithmPins algorithms_of(const Plan& plan);

// The costs of `source`, except that a pinned task has one algorithm: the pinned one, if `source` offers it. Otherwise
// the task passes through unchanged, and pins_not_kept() reports it.
std::unique_ptr<Costs> pinned(std::unique_ptr<Costs> source, AlgorithmPins pins);

// The names of the tasks of `plan` that have a pin but run another algorithm.
std::vector<std::string> pins_not_kept(const Plan& plan, const AlgorithmPins& pins);

}  // namespace plimsoll
