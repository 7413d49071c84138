#include "passes/variants.h"

#include <algorithm>

#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

constexpr int64_t kSlices = 16;        // number of slices of the largest weight
constexpr int64_t kLeastSlice = 1024;  // bytes; copying less takes no less time
constexpr int64_t kAlike = 32;         // sub-batches that differ by less than 1/32 are treated as equal

int64_t largest_updated(const TaskGraph& graph) {
  int64_t most = 0;
  for (const Task& task : graph.tasks)
    for (const Operand& operand : task.operands)
      if (task.kind == TaskKind::update && operand.access == Access::update)
        most = std::max(most, graph.tensors[operand.tensor].bytes(1));
  return most;
}

}  // namespace

Variants::Variants(TaskGraph graph, Costs& costs, int64_t batch)
    : graph_(std::move(graph)), costs_(costs), batch_(batch) {}

bool Variants::mixes_samples() const {
  return std::ranges::any_of(graph_.tasks, &Task::mixes_samples);
}

bool Variants::of_whole_batch() const {
  return std::ranges::any_of(graph_.tasks, &Task::whole_batch);
}

Variants* Variants::in_slices(bool whole_weights) {
  std::unique_ptr<Variants>& made = whole_weights ? state_in_slices_ : in_slices_;
  if (made || graph_.slice_bytes > 0) return made.get();
  const int64_t bytes = std::max(kLeastSlice, align_up(largest_updated(graph_) / kSlices));
  TaskGraph cut = sliced(graph_, bytes, whole_weights);
  if (cut.slice_bytes > 0) made = std::make_unique<Variants>(std::move(cut), costs_, batch_);
  return made.get();
}

const TaskGraph& Variants::graph_for(int64_t sub_batch) {
  if (sub_batch == batch_) return graph_;
  const std::lock_guard lock(mutex_);
  if (!accumulating_) accumulating_ = accumulating(graph_);
  return *accumulating_;
}

Result<const Candidate*> Variants::candidate(int64_t sub_batch) {
  const std::lock_guard lock(mutex_);
  const auto known = candidates_.find(sub_batch);
  if (known != candidates_.end()) return &known->second;
  PLIMSOLL_ASSIGN(Candidate made, make_candidate(graph_for(sub_batch), costs_, batch_, sub_batch));
  made.seed = seed_;
  made.placements = placements_;
  return &candidates_.emplace(sub_batch, std::move(made)).first->second;
}

void Variants::prepare_seed() const {
  Plan plan = empty_plan({.graph = &graph_, .batch = batch_, .sub_batch = batch_});
  seed_->put(plan, graph_);
}

Status Variants::expect(std::span<const int64_t> sub_batches) {
  const std::lock_guard lock(mutex_);
  std::vector<int64_t> samples;
  for (const int64_t size : sub_batches) {
    if (size == batch_ || candidates_.contains(size)) continue;
    const Candidate asked{.batch = batch_, .sub_batch = size};
    samples.insert(samples.end(), {size, asked.last_sub_batch()});
  }
  return samples.empty() ? Status() : costs_.expect(graph_for(1), samples);
}

Result<Ordered*> Variants::ordered(int64_t sub_batch, const Policy& policy) {
  const std::tuple key(sub_batch, policy.order, policy.searches, policy.in_place);
  PLIMSOLL_ASSIGN(const Candidate* found_candidate, candidate(sub_batch));
  std::unique_lock lock(mutex_);
  OrderedOnce& found = ordered_[key];
  lock.unlock();
  std::call_once(found.made, [&] { found.ordered.emplace(*found_candidate, policy, threads_); });
  return &*found.ordered;
}

// With several ranks the order may depend on the limit, so nothing is known before a plan is made.
Result<LowerBounds*> Variants::known_of(const Policy& policy, int64_t sub_batch, int64_t live_limit) {
  const std::tuple key(policy.name, sub_batch, live_limit);
  PLIMSOLL_ASSIGN(const Ordered* ordered, this->ordered(sub_batch, policy));
  {
    const std::lock_guard lock(mutex_);
    if (const auto known = known_.find(key); known != known_.end()) return &known->second;
  }
  LowerBounds made;
  if (graph_.ranks == 1) made = lower_bounds_of(ordered->candidate, policy, live_limit, ordered->model);
  const std::lock_guard lock(mutex_);
  return &known_.try_emplace(key, std::move(made)).first->second;
}

double ideal_seconds(const Candidate& candidate) {
  double seconds = 0;
  for (const TaskId task : ids_of(candidate.graph->tasks)) {
    const Choice& fastest = candidate.choices[task].front();
    if (candidate.graph->tasks[task].kind == TaskKind::update) seconds += fastest.last_seconds;
    else seconds += static_cast<double>(candidate.rounds() - 1) * fastest.seconds + fastest.last_seconds;
  }
  return seconds;
}

std::vector<int64_t> even_sub_batches(int64_t batch) {
  std::vector<int64_t> sizes;
  for (int64_t size = (batch + 1) / 2; size >= 1;) {
    sizes.push_back(size);
    const int64_t rounds = (batch + size - 1) / size, next = std::min(size - 1, (batch + rounds) / (rounds + 1)),
                  apart = std::min(next, size - size / kAlike),
                  rounds_apart = apart < 1 ? 1 : (batch + apart - 1) / apart;
    size = std::min(next, (batch + rounds_apart - 1) / rounds_apart);
  }
  return sizes;
}

std::vector<int64_t> worthwhile_sub_batches(int64_t batch) {
  std::vector<int64_t> sizes = {batch};
  for (const int64_t size : even_sub_batches(batch))
    if (4 * size <= 3 * sizes.back() || (size == 1 && sizes.back() > 1)) sizes.push_back(size);
  return sizes;
}

}  // namespace plimsoll
