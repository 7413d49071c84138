#include "compiler/ir/plan.h"

#include <algorithm>

namespace plimsoll {

std::vector<TensorId> PlanTask::written(bool again) const {
  std::vector<TensorId> list = writes;
  if (again) std::erase_if(list, [&](TensorId tensor) { return std::find(remembers.begin(), remembers.end(), tensor) != remembers.end(); });
  return list;
}

std::string_view to_string(StreamKind kind) {
  switch (kind) {
    case StreamKind::compute: return "compute";
    case StreamKind::d2h: return "d2h";
    case StreamKind::h2d: return "h2d";
    case StreamKind::comm: return "comm";
  }
  return "";
}

std::string_view to_string(StepKind kind) {
  switch (kind) {
    case StepKind::compute: return "compute";
    case StepKind::offload: return "offload";
    case StepKind::prefetch: return "prefetch";
    case StepKind::load: return "load";
    case StepKind::reduce: return "reduce";
  }
  return "";
}

}  // namespace plimsoll
