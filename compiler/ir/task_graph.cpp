#include "compiler/ir/task_graph.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

namespace plimsoll {

std::vector<TensorId> Task::touched(Access access) const {
  std::vector<TensorId> found;
  for (const Operand& operand : operands) {
    if (operand.access != access) continue;
    if (std::find(found.begin(), found.end(), operand.tensor) == found.end()) found.push_back(operand.tensor);
  }
  return found;
}

int64_t Task::bytes_moved(int64_t samples) const {
  int64_t bytes = 0;
  for (const Operand& operand : operands) {
    if (operand.access == Access::absent) continue;
    bytes += operand.type.bytes(samples) * (operand.access == Access::update || operand.twice ? 2 : 1);
  }
  return bytes;
}

std::string why_batch_is_whole(const TaskGraph& graph) {
  const auto whole = std::ranges::find(graph.tasks, true, &Task::whole_batch);
  if (whole == graph.tasks.end()) return "";
  const auto grows = [](const Tensor& tensor) {
    return tensor.kind == TensorKind::activation && tensor.type.depends_on_batch();
  };
  // No single layer is the reason then.
  if (std::ranges::none_of(graph.tensors, grows))
    return fmt::format("the model is valid for exactly {} samples", graph.batch);
  return fmt::format(
      "layer '{}' ({}) does not sum over samples, so the losses of parts would not sum to that of the batch",
      whole->layer, whole->op);
}

Task as_run_again(const Task& task) {
  Task again = task;
  if (task.remembers.empty()) return again;
  for (Operand& operand : again.operands) {
    if (operand.access == Access::update) {
      operand = {};
      continue;
    }
    operand.twice = false;
    if (std::find(task.remembers.begin(), task.remembers.end(), operand.tensor) != task.remembers.end())
      operand.access = Access::read;
  }
  return again;
}

TaskGraph with_gradients_in_f32(TaskGraph graph) {
  const auto is_narrow_gradient = [&](TensorId id) {
    return graph.tensors[id].kind == TensorKind::weight_gradient && is_narrow(graph.tensors[id].type.type);
  };
  for (Task& task : graph.tasks)
    for (Operand& operand : task.operands) {
      if (operand.access == Access::absent || !is_narrow_gradient(operand.tensor)) continue;
      operand.begin *= bytes_of(DataType::f32) / bytes_of(operand.type.type);
      operand.type.type = DataType::f32;
    }
  for (const TensorId id : ids_of(graph.tensors))
    if (is_narrow_gradient(id)) graph.tensors[id].type.type = DataType::f32;
  return graph;
}

TaskGraph accumulating(TaskGraph graph) {
  graph = with_gradients_in_f32(std::move(graph));
  const auto is_gradient = [&](TensorId id) { return graph.tensors[id].kind == TensorKind::weight_gradient; };
  for (Tensor& tensor : graph.tensors)
    if (tensor.kind == TensorKind::weight_gradient) tensor.persistent = true;
  // If several update tasks read the same part of a gradient, the last one clears it.
  std::map<std::pair<TensorId, int64_t>, TaskId> last_look;
  for (const TaskId id : ids_of(graph.tasks))
    if (graph.tasks[id].kind == TaskKind::update)
      for (const Operand& operand : graph.tasks[id].operands)
        if (operand.access != Access::absent) last_look[{operand.tensor, operand.begin}] = id;
  for (const TaskId id : ids_of(graph.tasks)) {
    Task& task = graph.tasks[id];
    const auto changes = [&](const Operand& operand) {
      if (operand.access == Access::absent || !is_gradient(operand.tensor)) return false;
      return task.kind == TaskKind::update
                 ? operand.access == Access::read && last_look.at({operand.tensor, operand.begin}) == id
                 : operand.access == Access::write;
    };
    for (Operand& operand : task.operands)
      if (changes(operand)) operand.access = Access::update;
    std::erase_if(task.in_place,
                  [&](const Task::InPlace& pair) { return is_gradient(pair.read) || is_gradient(pair.written); });
  }
  return graph;
}

std::string_view to_string(TensorKind kind) {
  switch (kind) {
    case TensorKind::input: return "input";
    case TensorKind::activation: return "activation";
    case TensorKind::activation_gradient: return "activation_gradient";
    case TensorKind::weight: return "weight";
    case TensorKind::weight_gradient: return "weight_gradient";
    case TensorKind::optimizer_state: return "optimizer_state";
    case TensorKind::statistic: return "statistic";
    case TensorKind::stash: return "stash";
  }
  return "";
}

std::string_view to_string(TaskKind kind) {
  switch (kind) {
    case TaskKind::forward: return "forward";
    case TaskKind::loss: return "loss";
    case TaskKind::backward_data: return "backward_data";
    case TaskKind::backward_weights: return "backward_weights";
    case TaskKind::backward: return "backward";
    case TaskKind::update: return "update";
  }
  return "";
}

}  // namespace plimsoll
