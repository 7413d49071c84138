#include "passes/search/bound.h"

#include <algorithm>
#include <numeric>

#include "compiler/ir/streams.h"
#include "passes/schedule/evaluate.h"

namespace plimsoll::search {

namespace {

using Droppable = Bound::Droppable;

constexpr size_t kStepsTried = 24;

// The fewest bytes, without its own workspace, that can be live while each step of the order runs: persistent tensors
// that cannot leave, the step's own operands, what the trainer reads at the end of the round and exists by then, and
// the workspace of reductions.
std::vector<int64_t> least_bytes(const Model& model) {
  int64_t kept = model.persistent_bytes;
  for (const int32_t host_resident : model.all_host_residents) kept -= model.tensor(host_resident).bytes;
  std::vector<int64_t> least;
  for (const Op& op : model.order) {
    int64_t bytes = 0;
    if (op.is_task()) {
      for (const int32_t tensor : model.transient(op.id))
        if (!model.tensor(tensor).is_result) bytes += model.tensor(tensor).bytes;
      for (const int32_t tensor : model.writes(op.id))
        if (model.tensor(tensor).is_result) kept += model.tensor(tensor).bytes;
      const auto pairs = model.in_place(op.id);
      for (size_t i = 0; i < pairs.size(); i += 2)
        bytes -= std::min(model.tensor(pairs[i]).bytes, model.tensor(pairs[i + 1]).bytes);
      for (const int32_t host_resident : model.host_residents(op.id)) bytes += model.tensor(host_resident).bytes;
    }
    least.push_back(kept + bytes);
  }
  add_reduction_workspace(model, model.order, 0, least);  // the fewest under any limit
  return least;
}

// Of each step of the order, the fastest algorithm whose workspace can fit within `limit`, or the one with the smallest
// workspace. Null for loads.
std::vector<const Algorithm*> fastest_within(const Model& model, const std::vector<int64_t>& least, int64_t limit) {
  std::vector<const Algorithm*> chosen(model.order.size(), nullptr);
  for (size_t step = 0; step < chosen.size(); ++step)
    if (const Op& op = model.order[step]; op.is_task())
      chosen[step] = &model.algorithm_within(op.id, limit - least[step]);
  return chosen;
}

double iteration_of(const Model& model, const std::vector<const Algorithm*>& algorithms) {
  double seconds = 0;
  for (size_t step = 0; step < algorithms.size(); ++step) {
    if (!algorithms[step]) continue;
    const auto& [workspace, each, last] = *algorithms[step];
    const bool once = model.rounds == 1 || model.task(model.order[step].id).kind == TaskKind::update;
    seconds += once ? (model.rounds == 1 ? each : last) : last + static_cast<double>(model.rounds - 1) * each;
  }
  return seconds;
}

// In every round, the part of the batch that the first task reads is loaded before anything is computed.
double first_load_seconds(const Model& model) {
  const auto first = first_task(model.order);
  if (first == model.order.end()) return 0;
  int64_t bytes = -1;
  for (const int32_t id : model.reads(first->id))
    if (model.tensor(id).input()) bytes = std::max(bytes, model.tensor(id).copy_bytes);
  if (bytes < 0) return 0;
  const double copy = static_cast<double>(bytes) / model.links.h2d_bytes_per_second;
  const double rounds = static_cast<double>(model.rounds);
  return rounds * model.links.latency_seconds + (rounds - 1 + (model.rounds > 1 ? model.last_share : 1)) * copy;
}

// All tasks with these algorithms, waiting only for sums over the ranks, which run one after another. `excess`: seconds
// by which each round but the last exceeds the time of its tasks.
double reduced_iteration(const Model& model, const std::vector<const Algorithm*>& algorithms, double excess) {
  Stream compute, comm;
  const double before_last = static_cast<double>(model.rounds - 1);
  double before = first_load_seconds(model) + before_last * excess;  // the last round
  for (size_t step = 0; step < algorithms.size(); ++step)
    if (algorithms[step] && model.task(model.order[step].id).kind != TaskKind::update)
      before += before_last * algorithms[step]->seconds;
  compute.issue(0, before);
  std::vector<double> ends(model.reductions.size(), 0);
  for (size_t step = 0; step < algorithms.size(); ++step) {
    if (!algorithms[step]) continue;
    const int32_t task = model.order[step].id;
    const int32_t sum = model.waits_for[at(task)];
    const double seconds = model.rounds > 1 ? algorithms[step]->last_seconds : algorithms[step]->seconds;
    const TimeSpan span = compute.issue(sum >= 0 ? ends[at(sum)] : 0, seconds);
    for (const int32_t done : model.reduced_after[task])
      ends[at(done)] = comm.issue(span.end, model.reductions[at(done)].seconds).end;
  }
  return std::max(compute.end(), comm.end());
}

bool cheaper(const Droppable& a, const Droppable& b) { return a.seconds * b.bytes < b.seconds * a.bytes; }

// In its gap, or between two later uses (ActivationDecision::again).
bool may_be_away(const Model& model, int32_t id, int32_t step) {
  const ModelTensor& tensor = model.tensor(id);
  if (tensor.in_gap(step)) return true;
  if (tensor.gap_end == kNever || step <= tensor.gap_end) return false;
  const auto uses = model.used_at[id];
  const auto next = std::lower_bound(uses.begin(), uses.end(), step);
  return next != uses.begin() && next != uses.end() && *next != step && *next - *std::prev(next) > kNear;
}

// The tensors that may be off the device while `step` runs, by rising cost per byte. The outputs of a task are
// recomputed together, so they form one item. `padding`: the bytes of the arena that tensors between two uses take but
// that their copies do not transfer: tensors are aligned there.
std::vector<Droppable> droppable_at(const Model& model, int32_t step, int64_t& padding) {
  std::vector<Droppable> by_task(model.tasks.size());
  std::vector<Droppable> found;
  for (int32_t id = 0; id < static_cast<int32_t>(model.tensors.size()); ++id) {
    const ModelTensor& tensor = model.tensor(id);
    if (!may_be_away(model, id, step)) continue;
    padding += tensor.bytes - tensor.copy_bytes;
    // Saved tensors leave by copy only.
    if (!tensor.movable && (!tensor.saved || tensor.persistent())) continue;
    const double bytes = static_cast<double>(tensor.bytes);
    if (tensor.input()) found.push_back({bytes, 0});
    else if (!tensor.recomputable || tensor.saved) found.push_back({bytes, 1e30});
    else {
      by_task[at(tensor.producer)].bytes += bytes;
      by_task[at(tensor.producer)].seconds = model.seconds_again(tensor.producer);
    }
  }
  for (const Droppable& item : by_task)
    if (item.bytes > 0) found.push_back(item);
  std::ranges::stable_sort(found, cheaper);
  return found;
}

// The tensors that may reside in the host pool during `step`. Their cost is the slowdown that one prefetch causes.
// Optimizer state is not fetched in a round without updates, and gradients not in the first, so these are free. The way
// back is not counted, because no task may follow it.
std::vector<Droppable> host_residents_at(const Model& model, int32_t step) {
  const double taken = model.links.slowdown / model.links.h2d_bytes_per_second;
  std::vector<Droppable> found;
  const Op& op = model.order[at(step)];
  const auto here = op.is_task() ? model.host_residents(op.id) : std::span<const int32_t>{};
  for (const int32_t id : model.all_host_residents) {
    const ModelTensor& tensor = model.tensor(id);
    if (std::ranges::count(here, id) > 0) continue;
    const bool fetched = model.rounds == 1 || !(tensor.for_update() || tensor.adds_up());
    found.push_back({static_cast<double>(tensor.bytes), fetched ? taken * static_cast<double>(tensor.copy_bytes) : 0});
  }
  return found;
}

// Seconds to recompute a number of bytes, cheapest first; infinite if there are not enough.
class AgainSeconds {
 public:
  // `items`: by rising cost per byte.
  explicit AgainSeconds(std::span<const Droppable> items) : items_(items) {
    for (const Droppable& item : items) {
      bytes_.push_back(bytes_.back() + item.bytes);
      seconds_.push_back(seconds_.back() + item.seconds);
    }
  }

  double of(double bytes) const {
    if (bytes <= 0) return 0;
    // Whole items.
    const size_t whole =
        static_cast<size_t>(std::upper_bound(bytes_.begin(), bytes_.end(), bytes) - bytes_.begin()) - 1;
    const double rest = bytes - bytes_[whole];
    if (whole == items_.size()) return rest > 1e-6 ? 1e30 : seconds_[whole];
    return seconds_[whole] + rest / items_[whole].bytes * items_[whole].seconds;
  }

 private:
  std::span<const Droppable> items_;
  std::vector<double> bytes_ = {0}, seconds_ = {0};  // prefix sums
};

// The minimum of T over the offloaded bytes, a convex function, by its corner points and ternary search. Host
// residences only reduce what else must be evicted: as free bytes in one term, at the cost of their copies in the
// other. Returns `enough` as soon as the minimum is known not to exceed it.
double round_bound(const Model& model, const std::vector<Droppable>& items,
                   const std::vector<Droppable>& host_residents, double padding, double over, double before,
                   double after, double enough) {
  const double d2h = model.links.d2h_bytes_per_second, h2d = model.links.h2d_bytes_per_second;
  // Slowdown of overlapping tasks per byte copied off and back.
  const double taken = model.links.slowdown * (1 / d2h + 1 / h2d);
  std::vector<Droppable> all = items;
  all.insert(all.end(), host_residents.begin(), host_residents.end());
  std::ranges::stable_sort(all, cheaper);
  double on_host = 0;
  for (const Droppable& resident : host_residents) on_host += resident.bytes;
  const AgainSeconds again_of_items(items), again_of_all(all);
  const auto seconds = [&](double offloaded) {
    const double again = again_of_items.of(over - on_host - offloaded);
    const double copied = std::max(offloaded - padding, 0.0);
    return std::max(std::max(before, copied / d2h) + std::max(after + again, copied / h2d),
                    before + after + again_of_all.of(over - offloaded) + taken * copied);
  };
  constexpr int kPoints = 8;
  for (int point = 0; point <= kPoints; ++point)
    if (seconds(over * point / kPoints) <= enough) return enough;
  double low = 0, high = over;
  for (int turn = 0; turn < 100; ++turn) {
    const double a = low + (high - low) / 3, b = high - (high - low) / 3;
    if (seconds(a) <= seconds(b)) high = b;
    else low = a;
  }
  return std::min({seconds(0), seconds(over), seconds(low), seconds(high)});
}

}  // namespace

Bound::Bound(const Model& model) : model_(model), least_(least_bytes(model)) {
  // The order itself is measured, not a schedule lowered from it: where weights or states are updated in slices, every
  // schedule has copies of the slices, or other places for their updates, so its steps are not those of the order. In
  // the order everything is on the device all the time, slices and wholes too. They are among what may be in the host
  // pool (host_residents_at).
  Evaluator evaluator(model);
  evaluator.measure(model.order, 0);
  const std::vector<int64_t>& live = evaluator.live();
  std::vector<int32_t> steps(model.order.size());
  std::iota(steps.begin(), steps.end(), 0);
  const size_t tried = std::min(kStepsTried, steps.size());
  std::partial_sort(
      steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(tried), steps.end(),
      [&](int32_t a, int32_t b) { return live[at(a)] != live[at(b)] ? live[at(a)] > live[at(b)] : a < b; });
  for (size_t i = 0; i < tried; ++i) fullest_.push_back({.step = steps[i], .live = live[at(steps[i])]});
}

double Bound::seconds(int64_t limit) {
  const auto [known, fresh] = known_.try_emplace(limit, 0);
  if (!fresh) return known->second;
  const std::vector<const Algorithm*> algorithms = fastest_within(model_, least_, limit);
  std::vector<double> until = {0};  // seconds of the tasks before each step
  for (const Algorithm* algorithm : algorithms) until.push_back(until.back() + (algorithm ? algorithm->seconds : 0));
  double best = 0;  // largest excess of a round over the time of its tasks
  for (Full& full : fullest_) {
    const double over = static_cast<double>(full.live) - static_cast<double>(limit);
    if (over <= 0) break;
    if (!full.looked_at) {
      full.items = droppable_at(model_, full.step, full.padding);
      full.host_residents = host_residents_at(model_, full.step);
      full.looked_at = true;
    }
    const double ideal = until.back(), before = until[at(full.step)], after = ideal - before;
    const double round = round_bound(model_, full.items, full.host_residents, static_cast<double>(full.padding), over,
                                     before, after, best + ideal);
    best = std::max(best, round - ideal);
  }
  best = std::min(best, 1e6);
  const double rounds = static_cast<double>(std::max<int64_t>(model_.rounds - 1, 1));
  double seconds = iteration_of(model_, algorithms) + first_load_seconds(model_) + best * rounds;
  if (!model_.reductions.empty()) seconds = std::max(seconds, reduced_iteration(model_, algorithms, best));
  return known->second = seconds;
}

int64_t bound_bytes(const Model& model) {
  const std::vector<int64_t> least = least_bytes(model);
  int64_t most = 0;
  for (size_t step = 0; step < least.size(); ++step)
    if (model.order[step].is_task())
      most = std::max(most, least[step] + model.algorithms_of(model.order[step].id).back().workspace_bytes);
  return most;
}

}  // namespace plimsoll::search
