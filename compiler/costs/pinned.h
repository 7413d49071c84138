// Another plan's algorithms, for --algorithms-of. Weights get the same bits under two budgets only if both plans have the same
// sub-batch and run every task by the same algorithm (law 6). A planner that is free to choose takes an algorithm with a smaller
// workspace when the budget is tight; this makes it keep to the algorithms of a plan that exists.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

// By the task's name.
using AlgorithmPins = std::map<std::string, std::string>;

// The algorithm of each task of `plan` that its steps run.
AlgorithmPins algorithms_of(const Plan& plan);

// The costs of `source`, but a pinned task has one algorithm: the named one, where `source` offers it. Everything else
// passes through, including a pinned task whose algorithm is not offered: pins_not_kept() then tells of it.
std::unique_ptr<Costs> pinned(std::unique_ptr<Costs> source, AlgorithmPins pins);

// The tasks of `plan` that have a pin and run another algorithm, by name.
std::vector<std::string> pins_not_kept(const Plan& plan, const AlgorithmPins& pins);

}  // namespace plimsoll
