#include "passes/search/checkpoint_starts.h"

#include <algorithm>

#include "passes/search/price.h"

namespace plimsoll::search {

Decisions checkpoint_decisions(const Model& model, const Checkpoints& checkpoints) {
  // Bytes held for the backward, by the position that writes them.
  std::vector<int64_t> waiting(model.order.size() + 1, 0);
  int64_t total = 0;
  std::vector<double> prices;
  for (const ModelTensor& tensor : model.tensors) {
    if (!tensor.movable || tensor.gap_end == kNever) continue;
    waiting[at(tensor.made)] += tensor.bytes;
    total += tensor.bytes;
    if (tensor.recomputable && tensor.bytes > 0) prices.push_back(price_of_one_run(model, tensor));
  }
  double price = 0;
  if (!prices.empty()) {
    const auto middle = prices.begin() + static_cast<std::ptrdiff_t>(prices.size() / 2);
    std::nth_element(prices.begin(), middle, prices.end());
    price = *middle;
  }
  // The part of each position. Parts are numbered consecutively; a segment has checkpoints.parts of them.
  const int parts = checkpoints.segments * checkpoints.parts;
  std::vector<int32_t> part(model.order.size() + 1, 0);
  int64_t sum = 0;
  for (size_t position = 0; position < part.size(); ++position) {
    part[position] = static_cast<int32_t>(std::min<int64_t>(parts - 1, total == 0 ? 0 : sum * parts / total));
    sum += waiting[position];
  }
  Decisions decisions = keep_everything(model);
  for (size_t id = 0; id < model.tensors.size(); ++id) {
    const ModelTensor& tensor = model.tensors[id];
    if (!tensor.movable) continue;
    const int32_t from = part[at(tensor.made)], to = part[at(tensor.gap_begin)];
    ActivationDecision& decision = decisions.activations[id];
    if (from / checkpoints.parts != to / checkpoints.parts) {
      const bool offload = checkpoints.offloaded && tensor.gap_end != kNever;
      decision = {.kind = offload ? DecisionKind::offload : DecisionKind::keep};
    } else if (tensor.input()) {
      decision = {.kind = DecisionKind::offload};
    } else if (tensor.recomputable && from != to) {
      decision = {.kind = DecisionKind::recompute};
    } else if (tensor.recomputable && tensor.gap_end != kNever) {
      const bool evicts = !checkpoints.cheap_only || price_of_one_run(model, tensor) <= price;
      const uint8_t depth = checkpoints.parts > 1 ? 2 : 1;
      if (evicts) decision = {.kind = DecisionKind::recompute, .level = {.depth = depth}};
    }
  }
  return decisions;
}

}  // namespace plimsoll::search
