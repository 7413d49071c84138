#include "passes/liveness.h"

#include "passes/analysis/access.h"
#include "passes/analysis/liveness.h"

namespace plimsoll {

Status liveness(Plan& plan, const Context& context) {
  const int32_t steps = static_cast<int32_t>(plan.steps.size());
  std::vector<Residency>& found = plan.residencies;
  found = {};
  found.reserve(plan.tensors.size());
  constexpr int32_t kNone = -1;
  IdVector<TensorId, int32_t> current(plan.tensors.size(), kNone);
  for (const TensorId tensor : ids_of(plan.tensors)) {
    if (!plan.tensors[tensor].persistent) continue;
    current[tensor] = static_cast<int32_t>(found.size());
    found.push_back({.tensor = tensor, .bytes = plan.tensors[tensor].bytes, .first_step = -1, .last_step = steps});
  }
  for (const StepId id : ids_of(plan.steps)) {
    for_each_access(plan, plan.steps[id], [&](TensorId tensor, bool reads, bool) {
      if (plan.tensors[tensor].persistent) return;
      if (!reads) {
        current[tensor] = static_cast<int32_t>(found.size());
        found.push_back({.tensor = tensor, .bytes = plan.tensors[tensor].bytes, .first_step = id.value});
      }
      PLIMSOLL_CHECK(current[tensor] != kNone, "tensor '" + plan.tensors[tensor].name + "' is read before it is there");
      found[static_cast<size_t>(current[tensor])].last_step = id.value;
    });
  }
  for (const TensorId tensor : kept_to_the_end(context.graph))
    if (current[tensor] != kNone && !plan.tensors[tensor].persistent)
      found[static_cast<size_t>(current[tensor])].last_step = steps;
  return {};
}

}  // namespace plimsoll
