#include "compiler/network/simplify/lift_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "compiler/network/simplify/fold.h"
#include "compiler/network/simplify/graph_edit.h"
#include "compiler/network/simplify/inner_graphs.h"
#include "compiler/ops/op.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

enum class Place { elsewhere, weight, statistic, form_of_weight };  // the last: read as a weight in another form

// Whether it only shows input 0 in the form that a layer needs. A Reshape, an Expand or a Cast also occur where numbers
// are computed.
bool forms_weight(const ModelNode& node) {
  return node.op == "Identity" || node.op == "Transpose" || node.op == "Unsqueeze";
}

// If a product or a convolution reads a Constant as its weight, the file writes its weights as Constants. Then a
// Constant that is added to such a result, one that an Einsum reads, and one from which a Gather picks rows are
// weights, too, also in another form.
void add_unslotted(const Model& model, const GraphOrder& order, std::unordered_map<std::string, Place>& places) {
  std::unordered_map<std::string, std::string> constants;  // a Constant, or another form of it → the Constant
  for (const int index : order.nodes) {
    const ModelNode& node = model.nodes[index];
    if (!is_of_onnx(node) || node.outputs.empty()) continue;
    if (node.op == "Constant") {
      const auto* value = find_attribute(node, "value");
      if (value && value->tensor().type == ElementType::f32 && elements_of(value->tensor()).value_or(0) > 1)
        constants.emplace(node.outputs[0], node.outputs[0]);
    } else if (forms_weight(node) && !node.inputs.empty()) {
      if (const auto found = constants.find(node.inputs[0]); found != constants.end())
        constants.emplace(node.outputs[0], std::string(found->second));
    }
  }
  const auto is_constant_weight = [&](const std::string& name) {
    const auto found = constants.find(name);
    return found != constants.end() && places.contains(found->second);
  };
  const auto is_constant = [&](const std::string& name) { return constants.contains(name); };
  const auto reads_constant_weight = [&](const ModelNode& node) {
    return is_of_onnx(node) && node.inputs.size() > 1 && is_weight(slot_of(node.op, 1)) &&
           is_constant_weight(node.inputs[1]);
  };
  if (std::none_of(order.nodes.begin(), order.nodes.end(),
                   [&](int index) { return reads_constant_weight(model.nodes[index]); }))
    return;

  std::unordered_set<std::string> products;
  for (const int index : order.nodes) {
    const ModelNode& node = model.nodes[index];
    if (!is_of_onnx(node) || node.outputs.empty()) continue;
    if (reads_constant_weight(node)) {
      products.insert(node.outputs[0]);
    } else if (node.op == "Einsum" && std::count_if(node.inputs.begin(), node.inputs.end(), is_constant) == 1) {
      products.insert(node.outputs[0]);
      for (const std::string& input : node.inputs)
        if (is_constant(input)) places.try_emplace(constants.at(input), Place::form_of_weight);
    } else if ((node.op == "Add" || node.op == "Sum") && node.inputs.size() == 2) {
      for (size_t i = 0; i < 2; ++i)
        if (products.contains(node.inputs[i]) && is_constant(node.inputs[1 - i]))
          places.try_emplace(constants.at(node.inputs[1 - i]), Place::weight);
    }
  }
  for (const int index : order.nodes)
    if (const ModelNode& node = model.nodes[index];
        is_of_onnx(node) && node.op == "Gather" && !node.inputs.empty() && constants.contains(node.inputs[0]))
      places.try_emplace(constants.at(node.inputs[0]), Place::weight);
}

// The names used as weights. From the readers upward, it looks through nodes that only change the form of a value.
std::unordered_map<std::string, Place> find_places(const Model& model, const GraphOrder& order) {
  std::unordered_map<std::string, Place> places;
  for (auto node = order.nodes.rbegin(); node != order.nodes.rend(); ++node) {
    const ModelNode& source = model.nodes[*node];
    if (!is_of_onnx(source)) continue;
    for (size_t i = 0; i < source.inputs.size(); ++i) {
      const Slot slot = slot_of(source.op, i);
      if (slot == Slot::statistic) places[source.inputs[i]] = Place::statistic;
      else if (is_weight(slot)) places.try_emplace(source.inputs[i], Place::weight);
      else if (i == 0 && forms_weight(source) && places.contains(source.outputs[0])) {
        const Place place = places[source.outputs[0]];
        if (source.op == "Identity") places.try_emplace(source.inputs[i], place);
        else if (place != Place::statistic) places.try_emplace(source.inputs[i], Place::form_of_weight);
      }
    }
  }
  add_unslotted(model, order, places);
  return places;
}

}  // namespace

Result<bool> lift_weights(Model& model, const GraphOrder& order, std::vector<std::string>& notes) {
  const bool torch = model.producer == "pytorch";
  const auto places = find_places(model, order);
  std::unordered_map<std::string, KnownValue> shapes;  // inputs of ConstantOfShape
  for (const ModelTensor& tensor : model.initializers)
    if (tensor.type == ElementType::i64 && tensor.dims.size() == 1)
      if (auto known = known_value_of(tensor)) shapes.emplace(tensor.name, std::move(*known));

  std::vector<ModelTensor> lifted;
  std::unordered_set<std::string> names;
  int64_t filled = 0, bytes = 0;
  for (const int index : order.nodes) {
    const ModelNode& node = model.nodes[index];
    if (!is_of_onnx(node) || node.outputs.size() != 1) continue;
    const bool constant = node.op == "Constant", fill = node.op == "ConstantOfShape";
    if (!constant && !fill) continue;
    std::vector<KnownInput> inputs;
    for (const std::string& input : node.inputs)
      inputs.push_back({shapes.contains(input) ? &shapes.at(input) : nullptr, nullptr});
    const auto place = places.find(node.outputs[0]);
    const auto* value = constant ? find_attribute(node, "value") : nullptr;
    if (constant && place == places.end()) {
      if (value && value->tensor().type == ElementType::i64)
        if (auto known = known_value_of(value->tensor())) shapes.emplace(node.outputs[0], std::move(*known));
      continue;
    }
    if (place == places.end() || (constant && torch && place->second != Place::statistic)) continue;
    // A fill in another form is a computed zero more often than a weight.
    if (fill && place->second == Place::form_of_weight) continue;
    if (constant) {
      if (!value || value->tensor().type != ElementType::f32) continue;
      if (!node.refusal.empty()) return Error{ExitCode::unsupported, node.refusal, {kRenameAdvice}};
      lifted.push_back(value->tensor());
      lifted.back().name = node.outputs[0];
    } else {
      const auto known = fold(node, model.opset, inputs);
      if (!known || known->element != ElementType::f32 || !known->elements()) continue;
      bytes += *known->elements() * 4;
      if (bytes > kModelBytesLimit)
        return Error{ExitCode::unsupported,
                     fmt::format("{}: with it, the model's weights exceed 2 GiB", describe(node))};
      lifted.push_back(to_tensor(*known, node.outputs[0]));
      ++filled;
    }
    names.insert(node.outputs[0]);
  }
  if (lifted.empty()) return false;
  const auto count = static_cast<int64_t>(lifted.size());
  notes.push_back(fmt::format("{} {} written as nodes of the model and treated as initializers",
                              counted(count, "weight"), is_or_are(count)));
  if (filled > 0)
    notes.push_back(fmt::format("{} of them with one value in all elements: train from random weights instead",
                                counted(filled, "weight")));
  remove_makers(model, names);
  for (ModelTensor& tensor : lifted) model.initializers.push_back(std::move(tensor));
  return true;
}

}  // namespace plimsoll
