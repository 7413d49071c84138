// Every single damage to a plan that we can think of. The checker must notice each, or the damaged plan must be as right
// as the good one.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

struct Damaged {
  std::string what;  // "offload:y does not wait for forward"
  Plan plan;
};

// The good plan must be valid. The arena is made so large that no moved address is refused for its bounds alone.
std::vector<Damaged> damages_of(const Plan& good);

}  // namespace plimsoll
