#include "passes/splits.h"

#include <algorithm>

namespace plimsoll {

bool Splits::mixes_samples() const {
  return std::any_of(graph_.tasks.begin(), graph_.tasks.end(), [](const Task& task) { return task.mixes_samples; });
}

const TaskGraph& Splits::graph_for(int64_t sub_batch) {
  if (sub_batch == batch_) return graph_;
  if (!accumulating_) accumulating_ = accumulating(graph_);
  return *accumulating_;
}

Result<const Candidate*> Splits::candidate(int64_t sub_batch) {
  const auto known = candidates_.find(sub_batch);
  if (known != candidates_.end()) return &known->second;
  PLIMSOLL_ASSIGN(Candidate made, make_candidate(graph_for(sub_batch), costs_, batch_, sub_batch));
  return &candidates_.emplace(sub_batch, std::move(made)).first->second;
}

Result<double> Splits::bound_seconds(int64_t sub_batch, const Policy& policy, int64_t limit) {
  const std::tuple key(sub_batch, policy.order, limit);
  const auto known = bounds_.find(key);
  if (known != bounds_.end()) return known->second;
  auto model = models_.find({sub_batch, policy.order});
  if (model == models_.end()) {
    PLIMSOLL_ASSIGN(const Candidate* split, candidate(sub_batch));
    model = models_.emplace(std::pair(sub_batch, policy.order), ordered_model(*split, policy)).first;
  }
  return bounds_[key] = search::bound_seconds(model->second, limit);
}

Result<Joint*> Splits::joint(int64_t sub_batch, const Policy& policy, int effort) {
  const std::tuple key(sub_batch, policy.order, effort);
  const auto known = joints_.find(key);
  if (known != joints_.end() && known->second.complete()) return &known->second;
  if (known != joints_.end()) joints_.erase(known);
  PLIMSOLL_ASSIGN(const Candidate* split, candidate(sub_batch));
  return &joints_.try_emplace(key, *split, policy, effort).first->second;
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

std::vector<int64_t> even_splits(int64_t batch) {
  std::vector<int64_t> sizes;
  for (int64_t size = (batch + 1) / 2; size >= 1;) {
    sizes.push_back(size);
    const int64_t rounds = (batch + size - 1) / size;
    size = std::min(size - 1, (batch + rounds) / (rounds + 1));
  }
  return sizes;
}

std::vector<int64_t> worthwhile_splits(int64_t batch) {
  std::vector<int64_t> sizes = {batch};
  for (const int64_t size : even_splits(batch))
    if (4 * size <= 3 * sizes.back() || (size == 1 && sizes.back() > 1)) sizes.push_back(size);
  return sizes;
}

}  // namespace plimsoll
