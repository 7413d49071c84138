// All single damages to a plan that we know of. The checker must detect each, or the damaged plan must still be
// correct.
#pragma once

#include <string>
#include <vector>

#include "compiler/ir/plan.h"

namespace plimsoll {

struct Damaged {
  std::string what;  // "offload:y does not wait for forward"
  Plan plan;
};

// `good` must be valid. The arena is enlarged, so that no moved address is refused for its bounds alone.
std::vector<Damaged> damages_of(const Plan& good);

}  // namespace plimsoll
