#include "passes/schedule/copies.h"

#include <algorithm>

#include "compiler/ir/streams.h"

namespace plimsoll::schedule {
namespace {

bool is_task(const Op& op) { return op.kind == StepKind::compute; }

}  // namespace

void CopyMover::find_compute_times(const Trace& trace, std::span<const double> seconds) {
  begins_.resize(trace.size() + 1);
  double now = 0;
  for (size_t step = 0; step < trace.size(); ++step) {
    begins_[step] = now;
    if (is_task(trace[step])) now += seconds[step];
  }
  begins_.back() = now;
}

void CopyMover::delay_offloads(const Trace& trace, const TraceFacts& facts, int64_t limit) {
  released_at_.assign(model_.tensors.size(), 0);
  earliest_.assign(trace.size(), 0);
  offloads_.clear();
  const auto steps = static_cast<int32_t>(trace.size());
  Stream d2h;
  double waited = 0;  // delay of tasks relative to begins_
  for (int32_t step = 0; step < steps; ++step) {
    const Op& op = trace[at(step)];
    if (op.kind == StepKind::prefetch) earliest_[at(step)] = released_at_[at(op.id)];
    if (op.kind != StepKind::offload) continue;
    const auto returns = [&](const Op& other) { return other.kind == StepKind::prefetch && other.id == op.id; };
    const int64_t bytes = model_.tensors[at(op.id)].bytes;
    const int32_t maker = facts.made_at[at(step)];
    const double end = d2h.issue(begins_[at(maker) + 1] + waited, seconds(op, model_.links.d2h_bytes_per_second)).end;
    int32_t position = step + 1;
    while (position < steps && begins_[at(position)] + waited < end && live_[at(position)] <= limit - bytes &&
           !returns(trace[at(position)])) {
      live_[at(position)] += bytes;
      ++position;
    }
    waited = std::max(waited, end - begins_[at(position)]);
    released_at_[at(op.id)] = position;
    offloads_.push_back({op, position});
  }
}

void CopyMover::hasten_fetches(const Trace& trace, const TraceFacts& facts, int64_t limit) {
  fetches_.clear();
  const auto steps = static_cast<int32_t>(trace.size());
  // Loads before the first task stay: they cannot start any earlier.
  int32_t first = 0;
  while (first < steps && !is_task(trace[at(first)])) ++first;
  first_task_ = first;
  double next = begins_.back();
  for (int32_t step = steps; step-- > first;) {
    const Op& op = trace[at(step)];
    if (op.kind != StepKind::prefetch && op.kind != StepKind::load) continue;
    const int64_t bytes = model_.tensors[at(op.id)].bytes;
    next = std::min(next, begins_[at(step)]) - seconds(op, model_.links.h2d_bytes_per_second);
    const int32_t earliest = std::max({first, facts.left_at[at(step)] + 1, earliest_[at(step)]});
    int32_t position = step;
    while (position > earliest && begins_[at(position)] > next && live_[at(position) - 1] <= limit - bytes) {
      --position;
      live_[at(position)] += bytes;
    }
    fetches_.push_back({op, position});
  }
  std::reverse(fetches_.begin(), fetches_.end());
}

void CopyMover::merge(const Trace& trace) {
  const auto by_position = [](const Copy& a, const Copy& b) { return a.position < b.position; };
  for (std::vector<Copy>* copies : {&offloads_, &fetches_})
    if (!std::is_sorted(copies->begin(), copies->end(), by_position))
      std::stable_sort(copies->begin(), copies->end(), by_position);
  const auto steps = static_cast<int32_t>(trace.size());
  moved_.clear();
  moved_.reserve(trace.size());
  size_t offload = 0, fetch = 0;
  for (int32_t step = 0; step <= steps; ++step) {
    for (; offload < offloads_.size() && offloads_[offload].position <= step; ++offload)
      moved_.push_back(offloads_[offload].op);
    for (; fetch < fetches_.size() && fetches_[fetch].position <= step; ++fetch) moved_.push_back(fetches_[fetch].op);
    if (step < steps && (is_task(trace[at(step)]) || step < first_task_)) moved_.push_back(trace[at(step)]);
  }
}

Trace& CopyMover::move(const Trace& trace, const TraceFacts& facts, int64_t limit) {
  live_.assign(facts.live.begin(), facts.live.end());
  find_compute_times(trace, facts.seconds);
  delay_offloads(trace, facts, limit);
  hasten_fetches(trace, facts, limit);
  merge(trace);
  return moved_;
}

}  // namespace plimsoll::schedule
