#include "compiler/network/output_loss.h"

#include <fmt/format.h>

#include <algorithm>

#include "compiler/network/edit.h"
#include "compiler/network/prune.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

bool is_number(const Network& network, ValueId id) {
  const TensorType& type = network.values[id].type;
  return type.type == DataType::f32 && type.elements() == Affine{.fixed = 1};
}

std::string with_type(const Network& network, ValueId id) {
  return fmt::format("'{}' {}", network.values[id].name, to_string(network.values[id].type));
}

std::string all_with_types(const Network& network, const std::vector<ValueId>& ids) {
  std::string text;
  for (const ValueId id : ids) text += (text.empty() ? "" : ", ") + with_type(network, id);
  return text;
}

Error no_number(const Network& network, ValueId id) {
  Error error{ExitCode::invalid_model,
              fmt::format("output {} is not a loss: a loss is a single f32", with_type(network, id))};
  if (network.values[id].type.depends_on_batch())
    error.notes.push_back("reduce the loss over all samples in the model, for example with .mean()");
  return error;
}

}  // namespace

std::vector<ValueId> scalar_outputs(const Network& network) {
  std::vector<ValueId> scalars;
  for (const ValueId id : network.outputs)
    if (is_number(network, id) && std::find(scalars.begin(), scalars.end(), id) == scalars.end()) scalars.push_back(id);
  return scalars;
}

bool covers(const Network& network, const IdVector<ValueId, bool>& needed, ValueId output) {
  if (needed[output]) return true;
  const auto parts = made_of(network, output);
  const std::vector<ValueId> ids = ids_of(network.values);
  return std::all_of(ids.begin(), ids.end(), [&](ValueId id) {
    const ValueKind kind = network.values[id].kind;
    return !parts[id] || needed[id] || (kind != ValueKind::parameter && kind != ValueKind::statistic);
  });
}

Result<std::string> find_output_loss(const Network& network, const std::string& name) {
  const std::vector<ValueId>& outputs = network.outputs;
  if (outputs.empty()) return Error{ExitCode::invalid_model, "the model has no output"};
  if (!name.empty()) {
    const auto named =
        std::find_if(outputs.begin(), outputs.end(), [&](ValueId id) { return network.values[id].name == name; });
    if (named == outputs.end())
      return Error{ExitCode::usage, fmt::format("--loss output:{}: the model has no such output; outputs: {}", name,
                                                all_with_types(network, outputs))};
    if (!is_number(network, *named)) return no_number(network, *named);
    return name;
  }
  const std::vector<ValueId> numbers = scalar_outputs(network);
  if (outputs.size() == 1 && numbers.empty()) return no_number(network, outputs[0]);
  if (numbers.size() != 1)
    return Error{
        ExitCode::invalid_model,
        fmt::format("{} of the model's outputs are scalars: {}; choose the loss, for example --loss output:{}",
                    numbers.empty() ? "none" : "several", all_with_types(network, numbers.empty() ? outputs : numbers),
                    network.values[numbers.empty() ? outputs[0] : numbers[0]].name)};
  const std::string& loss = network.values[numbers[0]].name;
  const auto needed = made_of(network, numbers[0]);
  for (const ValueId id : outputs)
    if (!covers(network, needed, id))
      return Error{
          ExitCode::invalid_model,
          fmt::format(
              "output {} does not contribute to the loss '{}': layers that feed only this output would not be trained",
              with_type(network, id), loss),
          {fmt::format("--loss output:{} trains without them", loss)}};
  return loss;
}

void end_in_output(Network& network) {
  const ValueId number = network.outputs[0];
  const auto taken = [&](const std::string& name) {
    return std::any_of(network.values.begin(), network.values.end(),
                       [&](const Value& value) { return value.name == name; }) ||
           std::any_of(network.nodes.begin(), network.nodes.end(), [&](const Node& node) { return node.name == name; });
  };
  std::string name = "loss";
  for (int i = 2; taken(name); ++i) name = fmt::format("loss/{}", i);
  const ValueId loss = network.values.push_back({.name = name, .type = {DataType::f32, {{1}}}});
  network.nodes.push_back({.name = name, .op = "OutputLoss", .opset = 13, .inputs = {number}, .outputs = {loss}});
  network.outputs = {loss};
  prune_dead_nodes(network);
}

}  // namespace plimsoll
