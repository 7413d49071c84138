#include "passes/search/non_overlapped.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "passes/search/fit.h"
#include "passes/search/price.h"

namespace plimsoll::search {
namespace {

constexpr size_t kAlone = 16;  // tensors tried one by one if no group of them helps

// Of each tensor: seconds that tasks wait for its copies, in the trace evaluated last. A task waits for the copy that
// ends last of those before it.
std::vector<double> non_overlapped_seconds(const Workbench& bench) {
  std::vector<double> waited(bench.model.tensors.size(), 0);
  double computed = 0, copied = 0;
  int32_t last = -1;
  for (size_t step = 0; step < bench.trace.size(); ++step) {
    const Op& op = bench.trace[step];
    const auto& [start, end] = bench.evaluator.spans()[step];
    if (op.is_task()) {
      if (start > computed && last >= 0) waited[at(last)] += start - computed;
      computed = end;
    } else if (end > copied) {
      copied = end;
      last = op.id;
    }
  }
  return waited;
}

// Offloaded tensors that take less time to recompute than tasks wait for their copies, the largest gain first. The
// decisions are those evaluated last.
std::vector<int32_t> worth_recomputing(const Workbench& bench, const Decisions& decisions) {
  const Model& model = bench.model;
  const std::vector<double> waited = non_overlapped_seconds(bench);
  RecomputePrice price(model);
  std::vector<std::pair<double, int32_t>> by_loss;
  for (int32_t id = 0; id < static_cast<int32_t>(waited.size()); ++id) {
    const ModelTensor& tensor = model.tensor(id);
    if (waited[at(id)] == 0 || tensor.host_resident() || !tensor.recomputable || tensor.gap_end == kNever) continue;
    if (decisions.activations[at(id)].kind != DecisionKind::offload) continue;
    const double again = price.seconds(id);
    if (again >= 0 && again < waited[at(id)]) by_loss.push_back({again - waited[at(id)], id});
  }
  std::ranges::sort(by_loss);
  std::vector<int32_t> tensors;
  for (const auto& [loss, id] : by_loss) tensors.push_back(id);
  return tensors;
}

}  // namespace

// A round tries all tensors at once, then the half with the largest gains, and so on; if no group helps, the first
// tensors one by one. Each first as fit() would recompute it, then in the fewest bytes.
State recompute_non_overlapped(Workbench& bench, State state, int64_t limit, int64_t work, const Means& means) {
  if (!means.recompute) return state;
  constexpr ActivationDecision kWays[] = {{.kind = DecisionKind::recompute},
                                          {DecisionKind::recompute, kTransient, true}};
  const int64_t end = bench.work + work;
  State best = std::move(state);
  const auto over = [&] { return bench.work >= end || bench.deadline.passed(); };
  const auto helps = [&](std::span<const int32_t> tensors) {
    for (const ActivationDecision& way : kWays) {
      if (over()) return false;
      Decisions changed = best.decisions;
      for (const int32_t id : tensors) changed.activations[at(id)] = way;
      State next = fit(bench, std::move(changed), limit, means);
      if (!next.outcome.fits(limit) || next.outcome.seconds >= best.outcome.seconds) continue;
      best = std::move(next);
      return true;
    }
    return false;
  };
  for (bool better = true; std::exchange(better, false) && !over();) {
    best = bench.evaluate(best.decisions, limit);
    const std::vector<int32_t> tensors = worth_recomputing(bench, best.decisions);
    const std::span<const int32_t> all = tensors;
    for (size_t count = all.size(); count > 0 && !better; count /= 2) better = helps(all.first(count));
    if (better) continue;
    for (size_t i = 0; i < std::min(all.size(), kAlone); ++i) better |= helps(all.subspan(i, 1));
  }
  return best;
}

}  // namespace plimsoll::search
