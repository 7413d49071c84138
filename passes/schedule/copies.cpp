#include "passes/schedule/copies.h"

#include <algorithm>

#include "compiler/ir/streams.h"

namespace plimsoll::schedule {

void CopyMover::find_returns(const Trace& trace) {
  const auto steps = static_cast<int32_t>(trace.size());
  next_fetch_.assign(model_.tensors.size(), steps);
  returns_at_.resize(trace.size());
  for (int32_t step = steps; step-- > 0;) {
    const Op& op = trace[at(step)];
    if (op.kind == StepKind::prefetch) next_fetch_[at(op.id)] = step;
    if (op.kind == StepKind::offload) returns_at_[at(step)] = next_fetch_[at(op.id)];
  }
}

void CopyMover::delay_offloads(const Trace& trace, const TraceFacts& facts, int64_t limit) {
  released_at_.assign(model_.tensors.size(), 0);
  earliest_.assign(trace.size(), 0);
  const std::span<const double> begins = facts.begins;
  offloads_.clear();
  const auto steps = static_cast<int32_t>(trace.size());
  Stream d2h;
  double waited = 0;  // delay of tasks relative to TraceFacts::begins
  for (int32_t step = 0; step < steps; ++step) {
    const Op& op = trace[at(step)];
    if (op.kind == StepKind::prefetch) earliest_[at(step)] = released_at_[at(op.id)];
    if (op.kind != StepKind::offload) continue;
    const int32_t maker = facts.made_at[at(step)];
    const double end = d2h.issue(begins[at(maker) + 1] + waited, seconds(op, model_.links.d2h_bytes_per_second)).end;
    const auto last = begins.begin() + returns_at_[at(step)];
    const auto complete =
        std::partition_point(begins.begin() + step + 1, last, [&](double begin) { return begin + waited < end; });
    const int64_t bytes = model_.tensor(op.id).bytes;
    const int32_t position =
        live_.first_above(step + 1, static_cast<int32_t>(complete - begins.begin()), limit - bytes);
    live_.add(step + 1, position, bytes);
    waited = std::max(waited, end - begins[at(position)]);
    released_at_[at(op.id)] = position;
    offloads_.push_back({op, position});
  }
}

void CopyMover::hasten_fetches(const Trace& trace, const TraceFacts& facts, int64_t limit) {
  fetches_.clear();
  const std::span<const double> begins = facts.begins;
  const auto steps = static_cast<int32_t>(trace.size());
  // Loads before the first task stay: they cannot start any earlier.
  const int32_t first = first_task_ = static_cast<int32_t>(first_task(trace) - trace.begin());
  double next = begins.back();
  for (int32_t step = steps; step-- > first;) {
    const Op& op = trace[at(step)];
    if (op.kind != StepKind::prefetch && op.kind != StepKind::load) continue;
    const int64_t bytes = model_.tensor(op.id).bytes;
    next = std::min(next, begins[at(step)]) - seconds(op, model_.links.h2d_bytes_per_second);
    const int32_t earliest = std::max({first, facts.left_at[at(step)] + 1, earliest_[at(step)]});
    // The latest step that begins in time, if it is not too early.
    const auto late = std::upper_bound(begins.begin() + earliest, begins.begin() + step + 1, next);
    const int32_t in_time = std::max(earliest, static_cast<int32_t>(late - begins.begin()) - 1);
    const int32_t position = live_.after_last_above(in_time, step, limit - bytes);
    live_.add(position, step, bytes);
    fetches_.push_back({op, position});
  }
  std::reverse(fetches_.begin(), fetches_.end());
}

Trace& CopyMover::move(const Trace& trace, const TraceFacts& facts, int64_t limit) {
  live_.assign(facts.live);
  find_returns(trace);
  delay_offloads(trace, facts, limit);
  hasten_fetches(trace, facts, limit);
  const auto stays = [&](int32_t step) { return trace[at(step)].is_task() || step < first_task_; };
  insert(offloads_, fetches_, trace, stays, moved_);
  return moved_;
}

}  // namespace plimsoll::schedule
