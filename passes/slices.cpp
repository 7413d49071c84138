#include "passes/slices.h"

#include <algorithm>

namespace plimsoll {
namespace {

struct UpdateBytes {
  int64_t largest = 0;  // bytes accessed by the largest update
  int64_t all = 0;
};

UpdateBytes update_bytes(const TaskGraph& graph) {
  UpdateBytes found;
  for (const Task& task : graph.tasks) {
    if (task.kind != TaskKind::update || task.updates().empty()) continue;
    int64_t bytes = 0;
    for (const auto& touched : {task.reads(), task.updates()})
      for (const TensorId tensor : touched) bytes += graph.tensors[tensor].bytes(1);
    found.largest = std::max(found.largest, bytes);
    found.all += bytes;
  }
  return found;
}

}  // namespace

bool may_gain_by_slices(const TaskGraph& graph, int64_t minimum_bytes) {
  constexpr int64_t kPart = 4;
  const UpdateBytes updates = update_bytes(graph);
  return graph.ranks == 1 && kPart * updates.largest >= updates.all && 2 * updates.largest >= minimum_bytes;
}

bool has_much_state(const TaskGraph& graph, int64_t unconstrained_bytes) {
  constexpr int64_t kLittle = 16;
  return kLittle * update_bytes(graph).largest >= unconstrained_bytes;
}

}  // namespace plimsoll
