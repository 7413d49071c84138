#include "compiler/costs/reuse.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "compiler/ir/profile.h"

namespace plimsoll {
namespace {

// An update waits for its gradient and for all readers of its weight, and for nothing else.
std::vector<TaskId> order_of(const TaskGraph& graph) {
  struct Place {
    size_t after;  // the position in the graph that a task follows
    size_t own;
    TaskId task;
  };
  std::vector<Place> places;
  IdVector<TensorId, size_t> touched(graph.tensors.size(), 0);
  size_t position = 0;
  for (const TaskId id : ids_of(graph.tasks)) {
    const Task& task = graph.tasks[id];
    size_t after = ++position;
    if (task.kind == TaskKind::update) {
      after = 0;
      for (const Operand& operand : task.operands)
        if (operand.access != Access::absent) after = std::max(after, touched[operand.tensor]);
    } else {
      for (const Operand& operand : task.operands)
        if (operand.access != Access::absent) touched[operand.tensor] = position;
    }
    places.push_back({after, position, id});
  }
  std::stable_sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::pair(a.after, a.own) < std::pair(b.after, b.own);
  });
  std::vector<TaskId> order;
  for (const Place& place : places) order.push_back(place.task);
  return order;
}

bool is_backward(const Task& task) {
  return task.kind == TaskKind::backward || task.kind == TaskKind::backward_data ||
         task.kind == TaskKind::backward_weights;
}

// Of each tensor that recomputing a task writes: that task, if it saved something in its first run.
IdVector<TensorId, TaskId> makers_that_save(const TaskGraph& graph) {
  IdVector<TensorId, TaskId> makers(graph.tensors.size());
  for (const TaskId id : ids_of(graph.tasks)) {
    if (graph.tasks[id].remembers.empty()) continue;
    for (const TensorId made : as_run_again(graph.tasks[id]).writes()) makers[made] = id;
  }
  return makers;
}

// Bytes indexed by the time of their last access, with suffix sums (a Fenwick tree).
class LastTouched {
 public:
  explicit LastTouched(size_t moments) : sums_(moments + 1, 0) {}
  void add(size_t moment, int64_t bytes) {
    for (size_t at = moment + 1; at < sums_.size(); at += at & (~at + 1)) sums_[at] += bytes;
    total_ += bytes;
  }
  int64_t since(size_t moment) const {
    int64_t until = 0;
    for (size_t at = moment + 1; at > 0; at -= at & (~at + 1)) until += sums_[at];
    return total_ - until;
  }

 private:
  std::vector<int64_t> sums_;
  int64_t total_ = 0;
};

}  // namespace

std::map<std::string, std::vector<int64_t>> reuse_bytes(const TaskGraph& graph, int64_t samples) {
  constexpr size_t kNever = SIZE_MAX;
  const std::vector<TaskId> order = order_of(graph);
  LastTouched bytes(2 * order.size());
  IdVector<TensorId, size_t> last(graph.tensors.size(), kNever);
  std::map<std::string, std::vector<std::vector<int64_t>>> seen;
  const auto see = [&](const Task& task) {
    std::vector<int64_t> since;
    for (const Operand& operand : task.operands) {
      TensorId place = operand.tensor;  // a tensor written in place has the location of the operand
      for (const Task::InPlace& in_place : task.in_place)
        if (in_place.written == place) place = in_place.read;
      since.push_back(operand.access == Access::absent || last[place] == kNever ? 0 : bytes.since(last[place]));
    }
    seen[signature(task, samples)].push_back(std::move(since));
  };
  IdVector<TensorId, TaskId> may_make_again = makers_that_save(graph);
  // In the first iteration nothing has been accessed; the second is like all later ones.
  for (size_t moment = 0; moment < 2 * order.size(); ++moment) {
    const Task& task = graph.tasks[order[moment % order.size()]];
    const bool counts = moment >= order.size();
    for (const TensorId read : counts && is_backward(task) ? task.reads() : std::vector<TensorId>{}) {
      const TaskId maker = std::exchange(may_make_again[read], TaskId());
      if (maker.valid()) see(as_run_again(graph.tasks[maker]));
    }
    if (counts) see(task);
    for (const Operand& operand : task.operands) {
      if (operand.access == Access::absent || last[operand.tensor] == moment) continue;
      const int64_t size = graph.tensors[operand.tensor].bytes(samples);
      if (last[operand.tensor] != kNever) bytes.add(last[operand.tensor], -size);
      bytes.add(moment, size);
      last[operand.tensor] = moment;
    }
  }
  for (const Task& task : graph.tasks) {
    if (task.remembers.empty()) continue;
    auto& all = seen[signature(as_run_again(task), samples)];
    if (all.empty()) all.push_back(std::vector<int64_t>(task.operands.size(), std::numeric_limits<int64_t>::max()));
  }
  std::map<std::string, std::vector<int64_t>> medians;
  for (const auto& [key, all] : seen)
    for (size_t operand = 0; operand < all.front().size(); ++operand) {
      std::vector<int64_t> of_tasks;
      for (const std::vector<int64_t>& one : all) of_tasks.push_back(one[operand]);
      const auto middle = of_tasks.begin() + static_cast<std::ptrdiff_t>((of_tasks.size() - 1) / 2);
      std::nth_element(of_tasks.begin(), middle, of_tasks.end());
      medians[key].push_back(*middle);
    }
  return medians;
}

}  // namespace plimsoll
