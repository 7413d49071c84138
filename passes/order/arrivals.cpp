#include "passes/order/orders.h"

#include <limits>
#include <map>
#include <set>
#include <tuple>

namespace plimsoll::task_orders {
namespace {

// Dymem, Algorithm 1. A task runs when the last of its predecessors arrives at it. Its successors follow immediately,
// before its siblings. Each task has its own arrival counter. The backward visits the layers in reverse: among ready
// backward tasks, take one of the layer that ran last. Updates run as early as possible.
class Arrivals {
 public:
  Arrivals(const Plan& plan, const Dependencies& dependencies)
      : plan_(plan), dependencies_(dependencies), open_(dependencies.open) {}

  std::vector<TaskId> run() {
    std::vector<TaskId> roots;
    for (const TaskId id : ids_of(plan_.tasks))
      if (open_[id] == 0) roots.push_back(id);
    for (const TaskId id : roots) {
      arrive(id);
      walk();
    }
    while (!backward_.empty()) {
      const TaskId id = std::get<1>(*backward_.begin());
      backward_.erase(backward_.begin());
      visit(id);
      walk();
    }
    return std::move(tasks_);
  }

 private:
  // A layer's rank is the position of its first forward task.
  int32_t rank_of_layer(TaskId id) {
    const auto found = layers_.find(plan_.tasks[id].layer);
    return found == layers_.end() ? std::numeric_limits<int32_t>::max() : found->second;
  }
  void arrive(TaskId id) {
    const TaskKind kind = plan_.tasks[id].kind;
    if (is_forward(kind) || kind == TaskKind::update) visit(id);
    else backward_.insert({-rank_of_layer(id), id});
  }
  void visit(TaskId id) {
    if (is_forward(plan_.tasks[id].kind))
      layers_.try_emplace(plan_.tasks[id].layer, static_cast<int32_t>(tasks_.size()));
    tasks_.push_back(id);
    visited_.push_back({id, 0});
  }
  void walk() {
    while (!visited_.empty()) {
      auto& [id, next] = visited_.back();
      const std::span<const TaskId> after = dependencies_.after[id];
      if (next == after.size()) {
        visited_.pop_back();
        continue;
      }
      const TaskId successor = after[next++];
      if (--open_[successor] == 0) arrive(successor);
    }
  }

  const Plan& plan_;
  const Dependencies& dependencies_;
  IdVector<TaskId, int32_t> open_;  // dependences not yet satisfied
  std::map<std::string_view, int32_t> layers_;
  std::set<std::tuple<int32_t, TaskId>> backward_;  // ready tasks
  std::vector<std::pair<TaskId, size_t>> visited_;  // the path of the walk, with the next successor to visit
  std::vector<TaskId> tasks_;
};

}  // namespace

std::vector<TaskId> arrivals(const Plan& plan, const TaskGraph& /*graph*/, const Dependencies& dependencies) {
  return Arrivals(plan, dependencies).run();
}

}  // namespace plimsoll::task_orders
