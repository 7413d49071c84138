#include "compiler/ops/recurrent.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "compiler/ops/broadcast.h"

namespace plimsoll {
namespace {

Dim samples_of(const NodeView& node) { return node.input_type(0).dims[1]; }
int64_t size_of(const NodeView& node) { return node.input_type(1).dims[1].value; }

std::vector<int64_t> every_gate(int64_t gates) {
  std::vector<int64_t> all(static_cast<size_t>(gates));
  std::iota(all.begin(), all.end(), int64_t{0});
  return all;
}

}  // namespace

Result<std::vector<TensorType>> infer_recurrent(const NodeView& node, int64_t gates, size_t states) {
  if (!node.has_input(0) || !node.has_input(1)) return node.invalid("needs the gates' inputs and a weight");
  const TensorType &x = node.input_type(0), &r = node.input_type(1);
  const std::string both = to_string(x) + " and a weight " + to_string(r);
  if (x.type != DataType::f32 || r.type != DataType::f32) return node.unsupported("only f32 has kernels: " + both);
  if (x.rank() != 3 || r.rank() != 2 || x.dims[0].batch || x.dims[2].batch || r.dims[0] != x.dims[2] ||
      r.dims[1].batch || r.dims[0].value != gates * r.dims[1].value)
    return node.invalid(
        fmt::format("needs [steps, N, {} · size] and a weight [{} · size, size], got {}", gates, gates, both));
  std::vector<int64_t> order = node.integers("gates", every_gate(gates));
  std::sort(order.begin(), order.end());
  if (order != every_gate(gates))
    return node.invalid(fmt::format("its gates are not the numbers from 0 to {} in some order", gates - 1));
  const TensorType state{DataType::f32, {samples_of(node), {size_of(node)}}};
  for (size_t i = 2; i < 2 + states; ++i)
    if (node.has_input(i) && node.input_type(i) != state)
      return node.invalid(
          fmt::format("a first state is {}, expected {}", to_string(node.input_type(i)), to_string(state)));
  std::vector<TensorType> types(1 + states, state);
  types[0] = states_of_steps(node);
  return types;
}

RecurrentAttrs recurrent_attributes(const NodeView& node, int64_t gates) {
  RecurrentAttrs attributes{.reverse = node.integer("reverse", 0) != 0, .gates = {}};
  for (const int64_t at : node.integers("gates", every_gate(gates))) attributes.gates.push_back(at);
  return attributes;
}

TensorType states_of_steps(const NodeView& node) {
  return {DataType::f32, {node.input_type(0).dims[0], samples_of(node), {size_of(node)}}};
}

bool is_trained(const TaskBuilder& build) {
  bool trained = false;
  for (size_t i = 0; i < build.node().input_count(); ++i) trained |= build.wants_gradient(i);
  return trained;
}

Operand write_states(TaskBuilder& build, bool needed) {
  if (build.node().has_output(0)) return build.write_output(0);
  return needed ? build.write_stash("states", states_of_steps(build.node())) : Operand{};
}

Operand read_states(TaskBuilder& build) {
  return build.node().has_output(0) ? build.read_output(0) : build.read_stash("states");
}

// A weight's gradient may accumulate, so it is no gradient of this node alone.
Operand write_gradient_of_x(TaskBuilder& build) {
  const Value& x = build.node().input(0);
  const bool own = build.wants_gradient(0) && x.kind != ValueKind::parameter;
  return own ? build.write_gradient(0) : build.write_scratch("dx", x.type);
}

void give_gradient_of_x(TaskBuilder& build, const Operand& dx) {
  if (build.node().input(0).kind == ValueKind::parameter) give_summed_gradient(build, 0, as_read(dx));
}

void give_gradient_of_r(TaskBuilder& build, const RecurrentAttrs& attributes, const Operand& slopes,
                        const Operand& reset_states) {
  if (!build.wants_gradient(1)) return;
  const bool parameter = build.node().input(1).kind == ValueKind::parameter;
  build.task({.kernel = "RecurrentWeights",
              .kind = parameter ? TaskKind::backward_weights : TaskKind::backward_data,
              .attributes = to_attributes(attributes),
              .operands = {as_read(slopes), read_states(build), build.read_input(2),
                           reset_states.tensor.valid() ? as_read(reset_states) : Operand{}, build.write_gradient(1)},
              .flops = flops_per_element(slopes.type, 2 * size_of(build.node()))});
}

Sample recurrent_sample(std::string name, std::vector<int64_t> gates, int64_t steps, int64_t size, size_t states,
                        int outputs, bool reverse) {
  const int64_t rows = static_cast<int64_t>(gates.size()) * size;
  Sample sample{
      .name = std::move(name),
      .inputs = {{.dims = {{steps}, kBatch, {rows}}}, {.dims = {{rows}, {size}}, .kind = ValueKind::parameter}},
      .attributes = {{"gates", std::move(gates)}, {"reverse", int64_t{reverse}}},
      .outputs = outputs};
  for (size_t i = 0; i < states; ++i) sample.inputs.push_back({.dims = {kBatch, {size}}});
  return sample;
}

}  // namespace plimsoll
