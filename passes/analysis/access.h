// The stream of a step, which tensors it accesses, and how. All passes share this one interpretation of a step.
#pragma once

#include <algorithm>

#include "compiler/ir/plan.h"

namespace plimsoll {

inline StreamKind stream_of(StepKind kind) {
  switch (kind) {
    case StepKind::compute: return StreamKind::compute;
    case StepKind::offload: return StreamKind::d2h;
    case StepKind::prefetch:
    case StepKind::load: return StreamKind::h2d;
    case StepKind::reduce: return StreamKind::comm;
  }
  return StreamKind::compute;
}

// Calls body(tensor, reads, writes) once per tensor and kind of access: reads, then updates (both flags), then writes.
// A recomputed task does not update, and also reads the tensors that it saved in its first run.
template <class Body>
void for_each_access(const Plan& plan, const Step& step, Body&& body) {
  switch (step.kind) {
    case StepKind::compute: {
      const PlanTask& task = plan.tasks[step.task];
      for (const TensorId tensor : task.reads) body(tensor, true, false);
      if (!step.recompute)
        for (const TensorId tensor : task.updates) body(tensor, true, true);
      if (step.recompute)
        for (const TensorId tensor : task.remembers) body(tensor, true, false);
      for (const TensorId tensor : task.writes)
        if (!step.recompute || std::ranges::count(task.remembers, tensor) == 0) body(tensor, false, true);
      break;
    }
    case StepKind::offload: body(step.tensor, true, false); break;
    case StepKind::reduce:
      for (const TensorId tensor : step.bucket) body(tensor, true, true);
      break;
    case StepKind::prefetch:
    case StepKind::load: body(step.tensor, false, true); break;
  }
}

}  // namespace plimsoll
