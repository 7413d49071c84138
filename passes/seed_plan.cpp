#include "passes/seed_plan.h"

namespace plimsoll {
namespace {

void add_lists(Plan& plan, const TaskGraph& graph) {
  const int64_t samples = plan.rank_samples();
  plan.tensors.reserve(graph.tensors.size());
  for (const Tensor& tensor : graph.tensors)
    plan.tensors.push_back({.name = tensor.name,
                            .bytes = tensor.bytes(samples),
                            .kind = tensor.kind,
                            .reduced = is_stated_type(tensor.type.type) ? tensor.type.type : DataType::f32,
                            .persistent = tensor.persistent,
                            .slice_of = tensor.slice_of,
                            .slice_begin = tensor.slice_begin});
  plan.tasks.reserve(graph.tasks.size());
  for (const Task& task : graph.tasks)
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
}

}  // namespace

void LastSeed::put(Plan& plan, const TaskGraph& graph) {
  const std::lock_guard lock(mutex_);
  if (graph_ != &graph || samples_ != plan.rank_samples()) {
    add_lists(plan, graph);
    graph_ = &graph;
    samples_ = plan.rank_samples();
    tensors_ = plan.tensors;
    tasks_ = plan.tasks;
  }
  plan.tensors = tensors_;
  plan.tasks = tasks_;
}

Status seed_plan(Plan& plan, const Context& context) {
  if (context.seed) context.seed->put(plan, context.graph);
  else add_lists(plan, context.graph);
  return {};
}

}  // namespace plimsoll
