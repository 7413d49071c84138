// sliced(): splits update tasks into slices.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "compiler/ir/task_graph.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

class Slicing {
 public:
  Slicing(TaskGraph graph, int64_t slice_bytes, bool whole_weights)
      : graph_(std::move(graph)), slice_bytes_(slice_bytes / kAlignment * kAlignment), whole_weights_(whole_weights) {
    for (const Tensor& tensor : graph_.tensors) names_.insert(tensor.name);
    for (const Task& task : graph_.tasks) names_.insert(task.name);
    changers_ = IdVector<TensorId, int32_t>(graph_.tensors.size(), 0);
    for (const Task& task : graph_.tasks)
      for (const Operand& operand : task.operands)
        if (operand.access == Access::update) ++changers_[operand.tensor];
  }

  TaskGraph run() {
    IdVector<TaskId, Task> tasks;
    tasks.reserve(graph_.tasks.size());
    for (Task& task : graph_.tasks) {
      if (large(task)) cut(task, tasks);
      else tasks.push_back(std::move(task));
    }
    graph_.tasks = std::move(tasks);
    if (cut_) {
      graph_.slice_bytes = slice_bytes_;
      graph_.whole_weights = whole_weights_;
    }
    return std::move(graph_);
  }

 private:
  bool lives_through_the_run(TensorId id) const {
    return graph_.tensors[id].kind == TensorKind::weight || graph_.tensors[id].kind == TensorKind::optimizer_state;
  }

  bool is_cut(TensorId id) const {
    return lives_through_the_run(id) && !(whole_weights_ && graph_.tensors[id].kind == TensorKind::weight);
  }

  // True for an operand that is cut along with the weight: what the task updates permanently, and the gradient. Other
  // operands are used by all slices. The weight and its state may have fewer bytes than the gradient, and as many
  // elements.
  bool goes_along(const Operand& operand, const TensorType& weight) const {
    return operand.access != Access::absent && operand.begin == 0 &&
           stored_as(operand.type, weight.type) == weight;
  }
  static int64_t bytes_in_f32(const TensorType& weight) { return stored_as(weight, DataType::f32).at(1).bytes(); }

  // The elements of a slice are a multiple of this: each of its operands then begins at an aligned address.
  int64_t step_of(const Task& task) const {
    int64_t step = kAlignment / bytes_of(DataType::f32);
    for (const Operand& operand : task.operands)
      while (operand.access != Access::absent && goes_along(operand, task.operands.front().type) &&
             bytes_of(operand.type.type, step) % kAlignment != 0)
        step *= 2;
    return step;
  }

  bool large(const Task& task) const {
    if (task.kind != TaskKind::update || task.operands.empty()) return false;
    const Operand& weight = task.operands.front();
    if (weight.access != Access::update || weight.type.depends_on_batch() ||
        (weight.type.type != DataType::f32 && weight.type.type != DataType::bf16))
      return false;
    if (bytes_in_f32(weight.type) <= slice_bytes_) return false;
    if (step_of(task) * bytes_of(DataType::f32) > slice_bytes_) return false;
    bool something = false;
    for (const Operand& operand : task.operands) {
      something = something || (operand.access != Access::absent && is_cut(operand.tensor));
      const bool for_good = operand.access != Access::absent && lives_through_the_run(operand.tensor);
      const bool changed = operand.access == Access::update;
      if (operand.access == Access::write || (for_good && !changed) || (for_good && changers_[operand.tensor] > 1))
        return false;
      if (changed && !goes_along(operand, weight.type)) return false;
    }
    return something;
  }

  std::string fresh(const std::string& name, size_t number) {
    std::string made = fmt::format("{}.slice{}", name, number);
    while (!names_.insert(made).second) made += "_";
    return made;
  }

  void cut(const Task& task, IdVector<TaskId, Task>& tasks) {
    const TensorType weight = task.operands.front().type;
    const int64_t whole = bytes_in_f32(weight), element = bytes_of(DataType::f32);
    const int64_t step = step_of(task) * element, slice_bytes = slice_bytes_ / step * step;
    const int64_t pieces = (whole + slice_bytes - 1) / slice_bytes;
    const int64_t most = ((whole + pieces - 1) / pieces + step - 1) / step * step;
    size_t number = 0;
    cut_ = true;
    for (int64_t begin = 0; begin < whole; begin += most, ++number) {
      const int64_t bytes = std::min(most, whole - begin);
      Task piece = task;
      piece.name = fresh(task.name, number);
      piece.flops = {.fixed = task.flops.fixed / whole * bytes + task.flops.fixed % whole * bytes / whole};
      for (Operand& operand : piece.operands) {
        if (!goes_along(operand, weight)) continue;
        const TensorType type{.type = operand.type.type, .dims = {{bytes / element}}};
        const int64_t first = bytes_of(type.type, begin / element);  // of its bytes
        operand.type = type;
        if (!is_cut(operand.tensor)) {
          operand.begin = first;
          continue;
        }
        const Tensor& of = graph_.tensors[operand.tensor];
        Tensor slice{.name = fresh(of.name, number),
                     .kind = of.kind,
                     .type = type,
                     .persistent = true,
                     .slice_of = operand.tensor,
                     .slice_begin = first};
        operand.tensor = TensorId(static_cast<int64_t>(graph_.tensors.size()));
        graph_.tensors.push_back(std::move(slice));
      }
      tasks.push_back(std::move(piece));
    }
  }

  TaskGraph graph_;
  const int64_t slice_bytes_;
  const bool whole_weights_;
  bool cut_ = false;
  std::set<std::string> names_;
  IdVector<TensorId, int32_t> changers_;  // of each tensor: tasks that update it
};

}  // namespace

TaskGraph sliced(TaskGraph graph, int64_t slice_bytes, bool whole_weights) {
  if (slice_bytes < kAlignment) return graph;
  return Slicing(std::move(graph), slice_bytes, whole_weights).run();
}

TaskGraph planned_graph(TaskGraph graph, int64_t rounds, int64_t slice_bytes, bool whole_weights) {
  return sliced(rounds > 1 ? accumulating(std::move(graph)) : std::move(graph), slice_bytes, whole_weights);
}

}  // namespace plimsoll
