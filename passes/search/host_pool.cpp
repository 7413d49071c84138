#include "passes/search/host_pool.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "passes/search/price.h"

namespace plimsoll::search {
namespace {

constexpr int64_t kFragmentation = 64;  // 1/64 of the pool

// The steps at which a tensor has a slot in the pool: from its offload to its last fetch before the next eviction. A
// residence lasts for the whole trace.
struct Stay {
  int32_t tensor = 0;
  int32_t begin = 0, end = 0;  // half-open
};

// A whole updated in slices shares the residence of its slices.
bool has_own_slot(const ModelTensor& tensor) { return !(tensor.always_on_host() && tensor.update < 0); }

std::vector<Stay> stays_of(const Model& model, const Trace& trace) {
  std::vector<Stay> stays;
  std::vector<int32_t> current(model.tensors.size(), -1);  // index into `stays`
  for (int32_t step = 0; step < static_cast<int32_t>(trace.size()); ++step) {
    const Op& op = trace[at(step)];
    if (op.kind != StepKind::offload && op.kind != StepKind::prefetch) continue;
    const ModelTensor& tensor = model.tensor(op.id);
    int32_t& stay = current[at(op.id)];
    if (tensor.host_resident()) {
      if (stay < 0 && has_own_slot(tensor)) stays.push_back({op.id, 0, static_cast<int32_t>(trace.size())});
      stay = 0;
    } else if (op.kind == StepKind::offload) {
      stay = static_cast<int32_t>(stays.size());
      stays.push_back({op.id, step, step + 1});
    } else if (stay >= 0) {
      stays[at(stay)].end = step + 1;
    }
  }
  return stays;
}

Levels levels_of(const Model& model, const Trace& trace, const std::vector<Stay>& stays) {
  std::vector<int64_t> change(trace.size() + 1);
  for (const Stay& stay : stays) {
    change[at(stay.begin)] += model.tensor(stay.tensor).bytes;
    change[at(stay.end)] -= model.tensor(stay.tensor).bytes;
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  Levels levels;
  levels.assign(change);
  return levels;
}

// Cost in seconds per byte of keeping the tensor out of the host pool.
double price_of(const Model& model, int32_t id) {
  const ModelTensor& tensor = model.tensor(id);
  if (tensor.host_resident()) return std::numeric_limits<double>::infinity();
  if (!tensor.recomputable) return std::numeric_limits<double>::max();
  return price_of_one_run(model, tensor);
}

}  // namespace

int64_t pool_bytes(const Model& model, const Trace& trace) {
  const std::vector<Stay> stays = stays_of(model, trace);
  if (stays.empty()) return 0;
  const Levels levels = levels_of(model, trace, stays);
  return levels[levels.highest()];
}

int64_t pool_limit_for(const Model& model, int64_t most) {
  int64_t least = 0, largest = 0;  // bounds on pool_bytes() over all schedules
  for (const ModelTensor& tensor : model.tensors) {
    if (tensor.always_on_host() && has_own_slot(tensor)) least += tensor.bytes;
    if ((tensor.movable || tensor.host_resident()) && !tensor.input()) largest += tensor.bytes;
  }
  if (most == kNoLimit || largest <= most) return kNoLimit;
  return std::max(most - most / kFragmentation, least);
}

bool shrink_pool(const Model& model, const Trace& trace, int64_t limit, Decisions& decisions) {
  const std::vector<Stay> stays = stays_of(model, trace);
  Levels levels = levels_of(model, trace, stays);
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < stays.size(); ++i) order.emplace_back(price_of(model, stays[i].tensor), i);
  std::ranges::stable_sort(order, {}, [&](const auto& each) {
    return std::tuple(each.first, -model.tensor(stays[each.second].tensor).bytes);
  });
  bool any = false;
  for (const auto& [price, i] : order) {
    const Stay& stay = stays[i];
    const ModelTensor& tensor = model.tensor(stay.tensor);
    if (tensor.always_on_host() || !levels.exceeds(stay.begin, stay.end, limit)) continue;
    levels.add(stay.begin, stay.end, -tensor.bytes);
    if (tensor.host_resident()) {
      any |= std::exchange(decisions.residences[at(tensor.residence)], {}).on_host;
      continue;
    }
    ActivationDecision& decision = decisions.activations[at(stay.tensor)];
    if (decision.kind != DecisionKind::offload) continue;  // already changed, because it has left twice
    if (tensor.recomputable) decision.kind = DecisionKind::recompute;
    else decision = {};
    any = true;
  }
  return any;
}

}  // namespace plimsoll::search
