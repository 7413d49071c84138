#include "passes/order/orders.h"

#include <limits>
#include <set>
#include <tuple>
#include <utility>

#include "passes/analysis/liveness.h"

namespace plimsoll::task_orders {
namespace {

// List scheduling: among the ready tasks, run the one after which the fewest bytes are live; ties in graph order. The
// bytes that a task frees depend on the other remaining readers, so its key is recomputed after one of them has run.
class LowPeak {
 public:
  LowPeak(const Plan& plan, const TaskGraph& graph, const Dependencies& dependencies)
      : plan_(plan),
        dependencies_(dependencies),
        open_(dependencies.open),
        uses_left_(plan.tensors.size(), 0),
        key_(plan.tasks.size(), 0),
        kept_(plan.tensors.size(), false) {
    for (const TensorId tensor : kept_to_the_end(graph)) kept_[tensor] = true;
    std::vector<std::pair<TensorId, TaskId>> uses;
    for (const TaskId id : ids_of(plan.tasks))
      for_each_use(id, [&](TensorId tensor) {
        ++uses_left_[tensor];
        uses.emplace_back(tensor, id);
      });
    users_ = Grouped<TensorId, TaskId>(plan.tensors.size(), uses);
  }

  std::vector<TaskId> run() {
    std::vector<TaskId> tasks;
    for (const TaskId id : ids_of(plan_.tasks))
      if (open_[id] == 0) make_ready(id);
    while (!ready_.empty()) {
      const TaskId id = std::get<1>(*ready_.begin());
      ready_.erase(ready_.begin());
      key_[id] = kDone;
      tasks.push_back(id);
      for_each_use(id, [&](TensorId tensor) {
        if (--uses_left_[tensor] == 1) renew_last_user(tensor);
      });
      for (const TaskId after : dependencies_.after[id])
        if (--open_[after] == 0) make_ready(after);
    }
    return tasks;
  }

 private:
  static constexpr int64_t kDone = std::numeric_limits<int64_t>::max();

  template <class Body>
  void for_each_use(TaskId id, Body body) const {
    for (const TensorId tensor : plan_.tasks[id].reads) body(tensor);
    for (const TensorId tensor : plan_.tasks[id].updates) body(tensor);
  }

  bool leaves(TensorId tensor) const { return !plan_.tensors[tensor].persistent && !kept_[tensor]; }

  int64_t growth(TaskId id) const {
    int64_t bytes = 0;
    for (const TensorId tensor : plan_.tasks[id].writes)
      if (!plan_.tensors[tensor].persistent && (users_[tensor].size() > 0 || kept_[tensor]))
        bytes += plan_.tensors[tensor].bytes;
    for_each_use(id, [&](TensorId tensor) {
      if (uses_left_[tensor] == 1 && leaves(tensor)) bytes -= plan_.tensors[tensor].bytes;
    });
    return bytes;
  }

  void make_ready(TaskId id) {
    key_[id] = growth(id);
    ready_.insert({key_[id], id});
  }

  // Each tensor is left with a single user once, and its users are scanned once: linear in the accesses overall.
  void renew_last_user(TensorId tensor) {
    for (const TaskId user : users_[tensor]) {
      if (key_[user] == kDone || open_[user] != 0) continue;
      if (ready_.erase({key_[user], user})) make_ready(user);
    }
  }

  const Plan& plan_;
  const Dependencies& dependencies_;
  IdVector<TaskId, int32_t> open_;  // dependences not yet satisfied
  IdVector<TensorId, int32_t> uses_left_;
  Grouped<TensorId, TaskId> users_;
  IdVector<TaskId, int64_t> key_;
  IdVector<TensorId, bool> kept_;
  std::set<std::tuple<int64_t, TaskId>> ready_;
};

}  // namespace

std::vector<TaskId> low_peak(const Plan& plan, const TaskGraph& graph, const Dependencies& dependencies) {
  return LowPeak(plan, graph, dependencies).run();
}

}  // namespace plimsoll::task_orders
