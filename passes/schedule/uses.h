// When tensors are accessed: queries for policies that replay a memory pool step by step.
#pragma once

#include "passes/schedule/model.h"

namespace plimsoll::schedule {

class Uses {
 public:
  explicit Uses(const Model& model);

  // Position in model.order of the first task after `position` that reads or updates the tensor; kNever: none does.
  int32_t next(int32_t tensor, int32_t position) const;
  // True for tensors that a task or a reduction updates: a host copy would become stale.
  bool changes(int32_t tensor) const { return model_.tensors[static_cast<size_t>(tensor)].changed; }

  // Calls body(read, written) for each pair of the task at `position` where the written tensor may take over the block
  // of the read one, by the rule of analysis/liveness.h.
  template <class Body>
  void for_each_takeover(int32_t position, Body body) const {
    const int32_t task = model_.order[static_cast<size_t>(position)].id;
    if (!model_.in_place_allowed) return;
    const std::span<const int32_t> pairs = model_.in_place[task];
    for (size_t i = 0; i < pairs.size(); i += 2)
      if (may_take_over(pairs[i], pairs[i + 1], position)) body(pairs[i], pairs[i + 1]);
  }

 private:
  bool may_take_over(int32_t read, int32_t written, int32_t position) const;

  const Model& model_;
  std::vector<std::vector<int32_t>> positions_;
};

}  // namespace plimsoll::schedule
