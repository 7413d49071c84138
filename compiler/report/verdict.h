// The answer that a user looks for first: whether the plan fits, what the budget costs, and by which decisions.
#pragma once

#include <string>

#include "compiler/ir/plan.h"
#include "compiler/report/facts.h"

namespace plimsoll {

// "Fits 1.10 GiB, 40% of the 2.76 GiB that it takes unlimited; +6% slower than unlimited: 38 tensors offloaded, 40
// operations recomputed." Figures unknown to the plan are omitted.
std::string verdict_of(const Plan& plan, const PlanFacts& facts);

}  // namespace plimsoll
