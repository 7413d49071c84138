#include "passes/liveness.h"

#include "passes/analysis/liveness.h"

namespace plimsoll {

Status liveness(Plan& plan, const Context& context) {
  plan.residencies = find_residencies(plan, context.graph);
  return {};
}

}  // namespace plimsoll
