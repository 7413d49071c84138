// Does the plan implement this graph?
#include <fmt/format.h>

#include <algorithm>

#include "compiler/check/verdict.h"

namespace plimsoll {
namespace {

template <class T>
void expect_equal(Verdict& verdict, const std::string& of, const char* field, const T& said, const T& wanted) {
  if (said != wanted)
    verdict.refuse(Rule::graph, fmt::format("{}: {} is {} in the plan, but {} in the graph", of, field, said, wanted));
}

std::string listed(const TaskGraph& graph, const std::vector<TensorId>& tensors) {
  std::string text = "[";
  for (TensorId tensor : tensors)
    text += (text.size() > 1 ? " " : "") + (graph.tensors.contains(tensor) ? spelled_tensor(graph.tensors[tensor].name) : "?");
  return text + "]";
}

}  // namespace

std::vector<Violation> check_against_graph(const Plan& plan, const TaskGraph& given) {
  Verdict verdict(plan);
  const TaskGraph graph = planned_graph(given, plan.rounds, plan.slice_bytes, plan.whole_weights);
  expect_equal(verdict, "batch", "samples", plan.batch, graph.batch);
  expect_equal(verdict, "batch", "ranks", plan.ranks, graph.ranks);
  expect_equal(verdict, "tensors", "count", plan.tensors.size(), graph.tensors.size());
  expect_equal(verdict, "tasks", "count", plan.tasks.size(), graph.tasks.size());
  if (!verdict.clean()) return verdict.take();

  for (TensorId id : ids_of(graph.tensors)) {
    const PlanTensor& said = plan.tensors[id];
    const Tensor& tensor = graph.tensors[id];
    const std::string of = "tensor " + spelled_tensor(tensor.name);
    expect_equal(verdict, of, "name", said.name, tensor.name);
    expect_equal(verdict, of, "kind", to_string(said.kind), to_string(tensor.kind));
    expect_equal(verdict, of, "bytes", said.bytes, tensor.bytes(plan.rank_samples()));
    expect_equal(verdict, of, "in bf16", said.in_bf16, tensor.type.type == DataType::bf16);
    expect_equal(verdict, of, "slice_begin", said.slice_begin, tensor.slice_begin);
    expect_equal(verdict, of, "slice_of", listed(graph, {said.slice_of}), listed(graph, {tensor.slice_of}));
    expect_equal(verdict, of, "persistent", said.persistent || said.at_home_on_host(), tensor.persistent);
  }
  for (TaskId id : ids_of(graph.tasks)) {
    const PlanTask& said = plan.tasks[id];
    const Task& task = graph.tasks[id];
    const std::string of = "task " + spelled(task.name);
    expect_equal(verdict, of, "name", said.name, task.name);
    expect_equal(verdict, of, "op", said.op, task.op);
    expect_equal(verdict, of, "kind", to_string(said.kind), to_string(task.kind));
    expect_equal(verdict, of, "layer", said.layer, task.layer);
    expect_equal(verdict, of, "reads", listed(graph, said.reads), listed(graph, task.reads()));
    expect_equal(verdict, of, "writes", listed(graph, said.writes), listed(graph, task.writes()));
    expect_equal(verdict, of, "updates", listed(graph, said.updates), listed(graph, task.updates()));
    expect_equal(verdict, of, "remembers", listed(graph, said.remembers), listed(graph, task.remembers));
    expect_equal(verdict, of, "flops", said.flops, task.flops.at(plan.rank_samples()));
    if (task.whole_batch && plan.rounds * plan.ranks > 1)
      verdict.refuse(Rule::graph, fmt::format("{} needs the whole batch at once, but the plan splits it", of));
    expect_equal(verdict, of, "bytes_moved", said.bytes_moved, task.bytes_moved(plan.rank_samples()));
    // A plan may use fewer permissions than the graph gives.
    for (const Task::InPlace& pair : said.in_place)
      if (std::find(task.in_place.begin(), task.in_place.end(), pair) == task.in_place.end())
        verdict.refuse(Rule::graph, fmt::format("{}: {} in place is allowed in the plan, but not in the graph", of,
                                                listed(graph, {pair.read, pair.written})));
  }
  for (StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind == StepKind::compute && step.recompute && graph.tasks.contains(step.task) &&
        !graph.tasks[step.task].may_run_again)
      verdict.refuse(Rule::graph, id, {}, fmt::format("{} recomputes a task that must not be recomputed", verdict.name(id)));
  }
  return verdict.take();
}

}  // namespace plimsoll
