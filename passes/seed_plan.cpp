#include "passes/seed_plan.h"

namespace plimsoll {

Status seed_plan(Plan& plan, const Context& context) {
  const int64_t samples = plan.rank_samples();
  plan.tensors.reserve(context.graph.tensors.size());
  for (const Tensor& tensor : context.graph.tensors)
    plan.tensors.push_back({.name = tensor.name,
                            .bytes = tensor.bytes(samples),
                            .kind = tensor.kind,
                            .reduced = is_reduced(tensor.type.type) ? tensor.type.type : DataType::f32,
                            .persistent = tensor.persistent,
                            .slice_of = tensor.slice_of,
                            .slice_begin = tensor.slice_begin});
  plan.tasks.reserve(context.graph.tasks.size());
  for (const Task& task : context.graph.tasks)
    plan.tasks.push_back({.name = task.name,
                          .op = task.op,
                          .kind = task.kind,
                          .layer = task.layer,
                          .reads = task.reads(),
                          .writes = task.writes(),
                          .updates = task.updates(),
                          .remembers = task.remembers,
                          .in_place = task.in_place,
                          .flops = task.flops.at(samples),
                          .bytes_moved = task.bytes_moved(samples)});
  return {};
}

}  // namespace plimsoll
