#include "passes/schedule/uses.h"

#include <algorithm>

#include "passes/analysis/liveness.h"

namespace plimsoll::schedule {

Uses::Uses(const Model& model) : model_(model), positions_(model.tensors.size()) {
  for (int32_t at = 0; at < static_cast<int32_t>(model.order.size()); ++at) {
    const Op& op = model.order[static_cast<size_t>(at)];
    if (op.kind != StepKind::compute) continue;
    for (const int32_t id : model.reads[op.id]) positions_[static_cast<size_t>(id)].push_back(at);
    for (const int32_t id : model.updates[op.id]) positions_[static_cast<size_t>(id)].push_back(at);
  }
}

int32_t Uses::next(int32_t tensor, int32_t position) const {
  const std::vector<int32_t>& positions = positions_[static_cast<size_t>(tensor)];
  const auto found = std::upper_bound(positions.begin(), positions.end(), position);
  return found == positions.end() ? kNever : *found;
}

bool Uses::may_take_over(int32_t read, int32_t written, int32_t position) const {
  const ModelTensor &from = model_.tensors[static_cast<size_t>(read)],
                    &to = model_.tensors[static_cast<size_t>(written)];
  return next(read, position) == kNever && !from.kept && plimsoll::may_take_over(from.copy_bytes, to.copy_bytes);
}

}  // namespace plimsoll::schedule
