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

// A tensor's time in the pool: from its offload to its last fetch before the next eviction. A residence lasts for the
// whole trace.
struct Wait {
  int32_t tensor = 0;
  int32_t begin = 0, end = 0;  // half-open
};

// A whole updated in slices shares the residence of its slices.
bool has_own_slot(const ModelTensor& tensor) { return !(tensor.always_on_host() && tensor.update < 0); }

std::vector<Wait> waits_of(const Model& model, const Trace& trace) {
  std::vector<Wait> waits;
  std::vector<int32_t> current(model.tensors.size(), -1);  // index into `waits`
  for (int32_t step = 0; step < static_cast<int32_t>(trace.size()); ++step) {
    const Op& op = trace[at(step)];
    if (op.kind != StepKind::offload && op.kind != StepKind::prefetch) continue;
    const ModelTensor& tensor = model.tensors[at(op.id)];
    int32_t& wait = current[at(op.id)];
    if (tensor.host_resident()) {
      if (wait < 0 && has_own_slot(tensor)) waits.push_back({op.id, 0, static_cast<int32_t>(trace.size())});
      wait = 0;
    } else if (op.kind == StepKind::offload) {
      wait = static_cast<int32_t>(waits.size());
      waits.push_back({op.id, step, step + 1});
    } else if (wait >= 0) {
      waits[at(wait)].end = step + 1;
    }
  }
  return waits;
}

Levels levels_of(const Model& model, const Trace& trace, const std::vector<Wait>& waits) {
  std::vector<int64_t> change(trace.size() + 1);
  for (const Wait& wait : waits) {
    change[at(wait.begin)] += model.tensors[at(wait.tensor)].bytes;
    change[at(wait.end)] -= model.tensors[at(wait.tensor)].bytes;
  }
  std::partial_sum(change.begin(), change.end(), change.begin());
  Levels levels;
  levels.assign(change);
  return levels;
}

// Cost in seconds per byte of keeping the tensor out of the host pool.
double price_of(const Model& model, int32_t id) {
  const ModelTensor& tensor = model.tensors[at(id)];
  if (tensor.host_resident()) return std::numeric_limits<double>::infinity();
  if (!tensor.recomputable) return std::numeric_limits<double>::max();
  return price_of_one_run(model, tensor);
}

}  // namespace

int64_t pool_bytes(const Model& model, const Trace& trace) {
  const std::vector<Wait> waits = waits_of(model, trace);
  if (waits.empty()) return 0;
  const Levels levels = levels_of(model, trace, waits);
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
  const std::vector<Wait> waits = waits_of(model, trace);
  Levels levels = levels_of(model, trace, waits);
  std::vector<std::pair<double, size_t>> order;
  for (size_t i = 0; i < waits.size(); ++i) order.emplace_back(price_of(model, waits[i].tensor), i);
  std::ranges::stable_sort(order, {}, [&](const auto& each) {
    return std::tuple(each.first, -model.tensors[at(waits[each.second].tensor)].bytes);
  });
  bool any = false;
  for (const auto& [price, i] : order) {
    const Wait& wait = waits[i];
    const ModelTensor& tensor = model.tensors[at(wait.tensor)];
    if (tensor.always_on_host() || !levels.exceeds(wait.begin, wait.end, limit)) continue;
    levels.add(wait.begin, wait.end, -tensor.bytes);
    if (tensor.host_resident()) {
      any |= std::exchange(decisions.residences[at(tensor.residence)], {}).on_host;
      continue;
    }
    ActivationDecision& decision = decisions.activations[at(wait.tensor)];
    if (decision.kind != DecisionKind::offload) continue;  // already changed, because it has left twice
    if (tensor.recomputable) decision.kind = DecisionKind::recompute;
    else decision = {};
    any = true;
  }
  return any;
}

}  // namespace plimsoll::search
