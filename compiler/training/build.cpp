#include "compiler/training/build.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <utility>

#include "compiler/ops/op.h"
#include "compiler/training/update.h"
#include "compiler/training/whole_batch.h"

namespace plimsoll {
namespace {

// More tensors, and more tasks, than most networks have for each node. The lists reserve room for them at once: a list
// that grows moves its items, which are hundreds of megabytes in a deep network. Room that stays empty takes no memory.
constexpr size_t kMostPerNode = 6;

const Op& op_of(const Node& node) {
  const Op* op = find_op(node.op);
  PLIMSOLL_CHECK(op, "operator '" + node.op + "' passed the import unknown");
  return *op;
}

// Inputs, weights and statistics: the tensors that exist before the first task.
void add_given_tensors(const Network& network, TaskBuilder& builder, TaskGraph& graph) {
  for (const ValueId id : ids_of(network.values)) {
    const Value& value = network.values[id];
    const bool parameter = value.kind == ValueKind::parameter, statistic = value.kind == ValueKind::statistic;
    if (!parameter && !statistic) continue;
    const TensorId tensor = builder.add_tensor({.name = value.name,
                                                .kind = parameter ? TensorKind::weight : TensorKind::statistic,
                                                .type = builder.stored_type(id),
                                                .onnx_name = value.initializer,
                                                .persistent = true});
    builder.bind(id, tensor);
    TensorType stored = value.type;
    stored.layout = Layout::plain;
    graph.parameters.push_back({.tensor = tensor, .initializer = value.initializer, .stored = std::move(stored)});
  }
  for (const ValueId id : network.inputs) {
    const Value& value = network.values[id];
    const TensorId tensor = builder.add_tensor(
        {.name = value.name, .kind = TensorKind::input, .type = value.type, .onnx_name = value.name});
    builder.bind(id, tensor);
    graph.inputs.push_back(tensor);
  }
}

// A value needs a gradient if it depends on a trained parameter. Records one such parameter per value, so that an error
// about an operator without a gradient can name it.
Result<IdVector<ValueId, ValueId>> find_trained(const Network& network) {
  IdVector<ValueId, ValueId> behind(network.values.size());
  for (const ValueId id : ids_of(network.values))
    if (network.values[id].kind == ValueKind::parameter && network.values[id].trainable) behind[id] = id;
  Error missing{ExitCode::unsupported, "some operators between a trained parameter and the loss have no gradient"};
  for (const Node& node : network.nodes) {
    ValueId parameter;
    for (const ValueId input : node.inputs)
      if (input.valid() && behind[input].valid()) parameter = behind[input];
    if (!parameter.valid() || node.marks.detached) continue;
    if (!op_of(node).backward) {
      missing.notes.push_back(fmt::format("{} has no gradient; parameter '{}' needs it",
                                          NodeView(network, node).describe(), network.values[parameter].name));
      continue;
    }
    // Integers and booleans have no gradient, so values computed from them alone need none.
    for (const ValueId output : node.outputs)
      if (output.valid() && network.values[output].type.type == DataType::f32) behind[output] = parameter;
  }
  if (!missing.notes.empty()) return missing;
  return behind;
}

}  // namespace

Result<TaskGraph> build_task_graph(const Network& network, const TrainingOptions& options) {
  const auto policy = options.threads > 1 ? std::launch::async : std::launch::deferred;
  auto whole = std::async(policy, [&] { return nodes_of_whole_batch(network); });
  PLIMSOLL_ASSIGN(const auto trained, find_trained(network));
  TaskGraph graph{
      .name = network.name, .batch = options.batch, .forms = network.forms, .layout = network.layout};
  graph.tensors.reserve(kMostPerNode * network.nodes.size() + network.values.size());
  graph.tasks.reserve(kMostPerNode * network.nodes.size());
  TaskBuilder builder(network, graph, options.threads);
  if (options.join_gradients) builder.join_gradients();
  add_given_tensors(network, builder, graph);
  for (const ValueId id : ids_of(network.values))
    if (trained[id].valid()) builder.set_wants_gradient(id);

  builder.need_whole_batch(whole.get());
  for (const NodeId id : ids_of(network.nodes)) {
    builder.enter_forward(id);
    op_of(network.nodes[id]).forward(builder);
  }

  // From here on, every forward value has its tensor.

  for (int64_t i = static_cast<int64_t>(network.nodes.size()) - 1; i >= 0; --i) {
    const Node& node = network.nodes[NodeId(i)];
    const auto has_gradient = [&](ValueId v) { return v.valid() && builder.gradient_of(v).valid(); };
    const auto wants_gradient = [&](ValueId v) { return v.valid() && trained[v].valid(); };
    if (std::none_of(node.outputs.begin(), node.outputs.end(), has_gradient)) continue;
    if (std::none_of(node.inputs.begin(), node.inputs.end(), wants_gradient)) continue;
    builder.enter_backward(NodeId(i));
    op_of(node).backward(builder);
    builder.leave_backward();
  }

  // From here on, every weight gradient is complete.

  builder.narrow_gradients();

  IdVector<ValueId, NodeId> first_reader(network.values.size());
  for (const NodeId id : ids_of(network.nodes))
    for (const ValueId input : network.nodes[id].inputs)
      if (input.valid() && !first_reader[input].valid()) first_reader[input] = id;
  std::vector<Trained> stepped;
  for (const ValueId id : ids_of(network.values)) {
    const Value& value = network.values[id];
    if (value.kind != ValueKind::parameter || !value.trainable || !builder.gradient_of(id).valid()) continue;
    stepped.push_back({.parameter = value,
                       .layer = layer_name(network.nodes[first_reader[id]]),
                       .weight = builder.tensor_of(id),
                       .gradient = builder.gradient_of(id)});
  }
  const double clip_norm = options.optimizer.clip_norm;
  const bool unscales = std::any_of(network.values.begin(), network.values.end(),
                                    [](const Value& value) { return value.reduced == DataType::f16; });
  TensorId factor;
  if ((clip_norm > 0 || unscales) && !stepped.empty())
    factor = add_factor(graph, builder, stepped, clip_norm, unscales);
  if (unscales) graph.factor = factor;
  for (const Trained& one : stepped) add_update(graph, builder, one, options.optimizer, factor);

  builder.settle_element_types();
  builder.settle_names();

  PLIMSOLL_CHECK(network.outputs.size() >= 1, "a training network has outputs");
  const Node& last = network.nodes.back();
  graph.loss = builder.tensor_of(last.outputs[0]);
  if (last.outputs.size() > 1 && last.outputs[1].valid()) graph.correct = builder.tensor_of(last.outputs[1]);
  // A loss that is an output of the model itself has no scores.
  if (const int scores = op_of(last).scores; scores >= 0) {
    const ValueId output = last.inputs[static_cast<size_t>(scores)];
    if (network.values[output].type.depends_on_batch()) graph.output = builder.tensor_of(output);
  }
  return graph;
}

}  // namespace plimsoll
