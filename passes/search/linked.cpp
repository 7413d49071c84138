#include "passes/search/linked.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

#include "passes/search/price.h"

namespace plimsoll::search {
namespace {

int64_t nanoseconds(double seconds) { return static_cast<int64_t>(seconds * 1e9); }

}  // namespace

LinkedStarts::LinkedStarts(Workbench& bench) : model_(bench.model) {
  const State whole = bench.evaluate(keep_everything(model_), kNoLimit);
  const std::vector<TimeSpan>& spans = bench.evaluator.spans();
  // Keeping everything adds no step, so steps of the trace are positions in the order.
  const int32_t peak = whole.outcome.peak_op;
  peak_bytes_ = whole.outcome.peak_bytes;
  if (spans.empty()) return;
  peak_ = spans[at(peak)];
  RecomputePrice recompute(model_);
  for (int32_t id = 0; id < static_cast<int32_t>(model_.tensors.size()); ++id) {
    const ModelTensor& tensor = model_.tensor(id);
    if (!tensor.movable || tensor.bytes == 0 || !tensor.in_gap(peak)) continue;
    const double bytes = static_cast<double>(tensor.copy_bytes), again = tensor.input() ? 0 : recompute.seconds(id);
    const double latency = model_.links.latency_seconds;
    items_.push_back(
        {.tensor = id,
         .made = tensor.producer < 0 ? 0 : spans[at(model_.task(tensor.producer).position)].end,
         .wanted = spans[at(tensor.gap_end)].start,
         .out = tensor.input() ? 0 : latency + bytes / model_.links.d2h_bytes_per_second,
         .back = latency + bytes / model_.links.h2d_bytes_per_second,
         .price = again < 0 ? std::numeric_limits<double>::infinity() : again / static_cast<double>(tensor.bytes)});
  }
  std::ranges::stable_sort(items_, std::greater<>(), &Item::price);
}

Decisions LinkedStarts::decisions(int64_t limit, double share, const Means& means) const {
  Decisions decisions = keep_everything(model_);
  const auto items_by = [&](double Item::*time) {
    std::vector<size_t> items(items_.size());
    std::iota(items.begin(), items.end(), size_t{0});
    std::ranges::stable_sort(items, {}, [&](size_t item) { return items_[item].*time; });
    return items;
  };
  const std::vector<size_t> by_made = items_by(&Item::made), by_wanted = items_by(&Item::wanted);
  std::vector<int32_t> rank_made(items_.size()), rank_wanted(items_.size());
  // Time that the links offer between two items, negative. Copies queue up, so a copy takes time from all windows that
  // it spans.
  std::vector<int64_t> before, after;
  for (size_t rank = 0; rank < items_.size(); ++rank) {
    rank_made[by_made[rank]] = static_cast<int32_t>(rank);
    rank_wanted[by_wanted[rank]] = static_cast<int32_t>(rank);
    before.push_back(-nanoseconds(share * (peak_.start - items_[by_made[rank]].made)));
    after.push_back(-nanoseconds(share * (items_[by_wanted[rank]].wanted - peak_.end)));
  }
  Levels out, back;  // time taken minus time offered
  out.assign(before);
  back.assign(after);
  const int32_t many = static_cast<int32_t>(items_.size());
  int64_t over = peak_bytes_ - limit;
  // Copies off share the time after they are written; copies back share the time before they are read.
  for (size_t i = 0; i < items_.size() && over > 0 && means.offload; ++i) {
    const Item& item = items_[i];
    const int64_t leaves = nanoseconds(item.out), returns = nanoseconds(item.back);
    if (out.exceeds(0, rank_made[i] + 1, -leaves) || back.exceeds(rank_wanted[i], many, -returns)) continue;
    out.add(0, rank_made[i] + 1, leaves);
    back.add(rank_wanted[i], many, returns);
    decisions.activations[at(item.tensor)] = {.kind = DecisionKind::offload};
    over -= model_.tensor(item.tensor).bytes;
  }
  for (size_t i = items_.size(); i-- > 0 && over > 0 && means.recompute;) {
    const Item& item = items_[i];
    ActivationDecision& decision = decisions.activations[at(item.tensor)];
    if (decision.kind != DecisionKind::keep || !std::isfinite(item.price)) continue;
    const bool input = model_.tensor(item.tensor).input();
    decision = {.kind = input ? DecisionKind::offload : DecisionKind::recompute};
    over -= model_.tensor(item.tensor).bytes;
  }
  return decisions;
}

}  // namespace plimsoll::search
