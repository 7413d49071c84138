#include "passes/schedule/evaluate.h"

#include <algorithm>
#include <functional>
#include <iterator>

#include "passes/analysis/buckets.h"
#include "passes/analysis/liveness.h"

namespace plimsoll::schedule {

void add_reduction_workspace(const Model& model, const Trace& trace, int64_t limit, std::vector<int64_t>& bytes) {
  const RankLink link = link_within(model.links.ranks, limit);
  int64_t workspace = 0;
  for (const Reduction& reduction : model.reductions)
    workspace = std::max(workspace, reduction_workspace(link, model.ranks, reduction.bytes));
  size_t begun = 0;
  for (size_t step = 0; step < trace.size() && begun < model.reductions.size(); ++step) {
    if (begun > 0) bytes[step] += workspace;
    if (const Op& op = trace[step]; op.is_task() && !op.again) begun += model.reduced_after[op.id].size();
  }
}

Evaluator::Evaluator(const Model& model, const Spare& spare)
    : model_(model), current_(model.tensors.size()), mover_(model) {
  if (spare.most == 0) return;
  const auto spare_beside = [&](int64_t taken) { return std::clamp<int64_t>(spare.all - taken, 0, spare.most); };
  if (spare.taken) {
    std::ranges::transform(*spare.taken, std::back_inserter(spare_), spare_beside);
    return;
  }
  int64_t always = model.persistent_bytes;  // whatever is decided
  for (const int32_t id : model.all_host_residents)
    if (model.tensor(id).persistent()) always -= model.tensor(id).bytes;
  for (int32_t task = 0; task < static_cast<int32_t>(model.tasks.size()); ++task) {
    int64_t own = always + model.algorithms_of(task, false).back().workspace_bytes;
    for (const auto& accessed : {model.reads_and_updates(task), model.writes(task), model.host_residents(task)})
      for (const int32_t id : accessed) own += model.tensor(id).bytes;
    spare_.push_back(spare_beside(own));
  }
}

void Evaluator::find_lives(const Trace& trace) {
  const int32_t steps = static_cast<int32_t>(trace.size());
  std::fill(current_.begin(), current_.end(), Current{});
  lives_.clear();
  pairs_.clear();
  host_resident_bytes_ = 0;
  came_from_.assign(trace.size(), -1);
  made_at_.resize(trace.size());
  left_at_.resize(trace.size());
  rounds_.begin(trace.size(), model_.tensors.size());
  const auto begin = [&](int32_t tensor, int32_t step, int32_t copied_at) {
    current_[at(tensor)] = {static_cast<int32_t>(lives_.size()), copied_at};
    lives_.push_back({tensor, step, step});
  };
  for (int32_t step = 0; step < steps; ++step) {
    const Op& op = trace[at(step)];
    switch (op.kind) {
      case StepKind::load:
      case StepKind::prefetch: {
        const ModelTensor& tensor = model_.tensor(op.id);
        const int32_t before = current_[at(op.id)].life;
        left_at_[at(step)] = before < 0 ? -1 : lives_[at(before)].last;
        if (before < 0 && tensor.persistent()) host_resident_bytes_ += tensor.bytes;
        if (tensor.persistent()) rounds_.fetch(step, op.id);
        begin(op.id, step, step);
        continue;
      }
      case StepKind::offload: {
        const ModelTensor& tensor = model_.tensor(op.id);
        Life& life = lives_[at(current_[at(op.id)].life)];
        made_at_[at(step)] = tensor.persistent() ? life.last : life.first;
        if (tensor.persistent()) rounds_.store(step, op.id, tensor.adds_up());
        life.last = step;
        continue;
      }
      case StepKind::reduce: continue;  // not in a trace: the pass reduce inserts reductions later (passes/reduce.h)
      case StepKind::compute: break;
    }
    int32_t came_from = -1;
    const auto touch = [&](int32_t tensor) {
      const Current current = current_[at(tensor)];
      lives_[at(current.life)].last = step;
      came_from = std::max(came_from, current.copied_at);
    };
    for (const int32_t tensor : op.again ? model_.reads(op.id) : model_.reads_and_updates(op.id)) touch(tensor);
    for (const int32_t tensor : model_.host_residents(op.id)) {
      if (current_[at(tensor)].life < 0) continue;
      touch(tensor);
      if (model_.task(op.id).kind != TaskKind::update) rounds_.access(tensor, model_.tensor(tensor).adds_up());
    }
    const size_t first_pair = pairs_.size();
    const std::span<const int32_t> in_place = model_.in_place(op.id);
    for (size_t i = 0; i < in_place.size(); i += 2)
      pairs_.push_back({current_[at(in_place[i])].life, in_place[i + 1], step});
    for (const int32_t tensor : model_.writes(op.id)) {
      if (op.again && model_.tensor(tensor).saved) touch(tensor);
      else begin(tensor, step, -1);
    }
    for (size_t i = first_pair; i < pairs_.size(); ++i) pairs_[i].written = current_[at(pairs_[i].written)].life;
    came_from_[at(step)] = came_from;
  }
  for (Life& life : lives_)
    if (model_.tensor(life.tensor).is_result && current_[at(life.tensor)].life == &life - lives_.data())
      life.last = steps;
}

void Evaluator::count_bytes(const Trace& trace) {
  const size_t steps = trace.size();
  live_.assign(steps + 1, 0);
  for (const Life& life : lives_) {
    const int64_t bytes = model_.tensor(life.tensor).bytes;
    live_[at(life.first)] += bytes;
    live_[std::min(at(life.last) + 1, steps)] -= bytes;
  }
  int64_t sum = model_.persistent_bytes - host_resident_bytes_;
  for (size_t i = 0; i < steps; ++i) live_[i] = sum += live_[i];
  live_.resize(steps);
  followed_.assign(lives_.size(), 0);
  follows_.assign(lives_.size(), 0);
  for (const Pair& pair : pairs_) {
    const Life &read = lives_[at(pair.read)], &written = lives_[at(pair.written)];
    if (read.last != pair.at || written.first != pair.at || followed_[at(pair.read)] || follows_[at(pair.written)])
      continue;
    if (!may_take_over(model_.tensor(read.tensor).copy_bytes, model_.tensor(written.tensor).copy_bytes)) continue;
    followed_[at(pair.read)] = follows_[at(pair.written)] = 1;
    live_[at(pair.at)] -= model_.tensor(written.tensor).bytes;
  }
}

void Evaluator::choose_algorithms(const Trace& trace, int64_t limit, Outcome& outcome) {
  chosen_.assign(trace.size(), nullptr);
  for (size_t step = 0; step < trace.size(); ++step) {
    int64_t live = live_[step];
    if (trace[step].is_task()) {
      const auto fits = [room = limit - live](const Algorithm& each) { return each.workspace_bytes <= room; };
      chosen_[step] = &fastest_that_fits(model_.algorithms_of(trace[step].id, trace[step].again), fits);
      live_[step] = live += chosen_[step]->workspace_bytes;
    }
    if (live > limit) outcome.excess += live - limit;
    if (live <= outcome.peak_bytes) continue;
    outcome.peak_bytes = live;
    outcome.peak_op = static_cast<int32_t>(step);
  }
}

// Persistent tensors are copied whole even in a round with fewer samples. A copy that a round does not have costs
// nothing in it.
CopySeconds Evaluator::seconds_of_copy(const Trace& trace, size_t step, double share, Round round) const {
  const ModelTensor& tensor = model_.tensor(trace[step].id);
  if (!has_copy(round, rounds_.of(static_cast<int32_t>(step)))) return {};
  const double bytes = (tensor.persistent() ? 1 : share) * static_cast<double>(tensor.copy_bytes);
  const double rate =
      trace[step].kind == StepKind::offload ? model_.links.d2h_bytes_per_second : model_.links.h2d_bytes_per_second;
  return {.latency = model_.links.latency_seconds,
          .transfer = bytes / rate,
          .slowdown = model_.links.slowdown * bytes / rate};
}

// Calls body(round, times). The last round comes first, so that the per-step results remaining afterwards are those of
// a middle round, or of the first if there is none.
template <class Body>
void Evaluator::for_each_round(Body body) const {
  if (model_.rounds == 1) return body(Round::only, 1);
  body(Round::last, 1);
  const int64_t first = rounds_.first_has_fewer() ? 1 : 0;  // otherwise it equals the middle rounds
  if (first > 0) body(Round::first, 1);
  if (model_.rounds - 1 > first) body(Round::middle, static_cast<double>(model_.rounds - 1 - first));
}

// With Waits::for_data, nothing waits for addresses or sums.
template <Evaluator::Waits kWaits>
double Evaluator::simulate_round(const Trace& trace, Round round) {
  constexpr bool kAddresses = kWaits == Waits::for_addresses_too;
  const bool updates = has_updates(round), last = round == Round::last;
  const bool ranks = kAddresses && !model_.reductions.empty();
  const double share = last ? model_.last_share : 1;
  spans_.resize(trace.size());
  reduced_.assign(model_.reductions.size(), 0);
  busy_reduced_.assign(model_.reductions.size(), 0);
  if (!kAddresses) parked_.assign(model_.tensors.size(), 0);
  Streams streams;
  Stream busy, busy_comm;     // the same if steps waited only for sums
  double prefetched = 0;      // the end of the last prefetch
  double workspace_free = 0;  // when the workspace of all issued reductions is free
  for (size_t step = 0; step < trace.size(); ++step) {
    const Op& op = trace[step];
    TimeSpan& span = spans_[step];
    switch (op.kind) {
      case StepKind::compute: {
        double ready = kAddresses ? std::max(streams.end(StreamKind::d2h), workspace_free) : 0, busy_ready = 0;
        if (ranks)
          if (const int32_t sum = model_.waits_for[at(op.id)]; sum >= 0) {
            ready = std::max(ready, reduced_[at(sum)]);
            if (updates) busy_ready = busy_reduced_[at(sum)];
          }
        if (came_from_[step] >= 0) ready = std::max(ready, spans_[at(came_from_[step])].end);
        const Algorithm& algorithm = algorithm_of(step);
        const bool skipped = !updates && model_.task(op.id).kind == TaskKind::update;
        const double seconds = skipped ? 0 : last ? algorithm.last_seconds : algorithm.seconds;
        if (kAddresses) busy.issue(busy_ready, streams.with_delay(seconds));
        span = streams.compute(ready, seconds);
        if (op.again || !ranks) break;
        for (const int32_t sum : model_.reduced_after[op.id]) {
          const Reduction& reduction = model_.reductions[at(sum)];
          const double seconds_on_link = updates || reduction.of_every_round ? reduction.seconds : 0;
          reduced_[at(sum)] = streams.reduce(span.end, seconds_on_link).end;
          busy_reduced_[at(sum)] = busy_comm.issue(busy.end(), seconds_on_link).end;
          if (at(sum) + 1 == reduced_.size()) workspace_free = reduced_[at(sum)];
        }
        break;
      }
      case StepKind::offload: {
        const double ready = kAddresses ? std::max(prefetched, workspace_free) : 0;
        span = streams.offload(std::max(ready, spans_[at(made_at_[step])].end),
                               seconds_of_copy(trace, step, share, round));
        if (!kAddresses) parked_[at(op.id)] = span.end;
        break;
      }
      case StepKind::prefetch:
      case StepKind::load: {
        const bool load = op.kind == StepKind::load;
        const double ready =
            kAddresses ? std::max({streams.end(StreamKind::compute), streams.end(StreamKind::d2h), workspace_free})
            : load     ? 0
                       : parked_[at(op.id)];
        const CopySeconds copy = seconds_of_copy(trace, step, share, round);
        span = load ? streams.load(ready, copy) : streams.prefetch(ready, copy);
        if (!load) prefetched = span.end;
        break;
      }
      case StepKind::reduce: break;
    }
  }
  // Other rounds reduce only the loss, which the next round may overtake.
  if (kAddresses) busy_ = updates ? std::max(busy.end(), busy_comm.end()) : busy.end();
  return streams.end();
}

Outcome Evaluator::measure(const Trace& trace, int64_t limit) {
  find_lives(trace);
  count_bytes(trace);
  // First: algorithms get the bytes that these leave.
  add_reduction_workspace(model_, trace, limit, live_);
  if (!spare_.empty())
    for (size_t step = 0; step < trace.size(); ++step)
      if (trace[step].is_task()) live_[step] += spare_[at(trace[step].id)];
  Outcome outcome{.peak_bytes = model_.persistent_bytes - host_resident_bytes_};
  choose_algorithms(trace, limit, outcome);
  return outcome;
}

void Evaluator::add_seconds(const Trace& trace, Outcome& outcome) {
  for_each_round([&](Round round, double times) {
    outcome.seconds += times * simulate_round<Waits::for_addresses_too>(trace, round);
    outcome.busy_seconds += times * busy_;
  });
}

Outcome Evaluator::evaluate(const Trace& trace, int64_t limit) {
  Outcome outcome = measure(trace, limit);
  add_seconds(trace, outcome);
  return outcome;
}

Outcome Evaluator::time_copies(Trace& trace, int64_t limit, Seconds wanted) {
  Outcome outcome = measure(trace, limit);
  if (!std::all_of(first_task(trace), trace.cend(), std::mem_fn(&Op::is_task))) {
    begins_.assign(1, 0);
    for (size_t step = 0; step < trace.size(); ++step)
      begins_.push_back(begins_.back() + (trace[step].is_task() ? algorithm_of(step).seconds : 0));
    const TraceFacts facts = {.live = live_, .begins = begins_, .made_at = made_at_, .left_at = left_at_};
    Trace& moved = mover_.move(trace, facts, limit);
    const bool fitted = outcome.fits(limit);
    outcome = measure(moved, limit);
    if (fitted && !outcome.fits(limit)) outcome = measure(trace, limit);
    else trace.swap(moved);
  }
  if (wanted == Seconds::always || outcome.fits(limit)) add_seconds(trace, outcome);
  return outcome;
}

double Evaluator::least_seconds(const Trace& trace) {
  double seconds = 0;
  for_each_round([&](Round round, double times) { seconds += times * simulate_round<Waits::for_data>(trace, round); });
  return seconds;
}

}  // namespace plimsoll::schedule
