#include <fmt/format.h>

#include <unordered_map>
#include <unordered_set>

#include "compiler/import/fold.h"
#include "compiler/import/graph_edit.h"
#include "compiler/import/load.h"
#include "compiler/import/slots.h"
#include "compiler/import/weights.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

enum class Place { elsewhere, weight, statistic };

// Names that stand in the place of a weight, looked through Identity from the readers up.
std::unordered_map<std::string, Place> find_places(const onnx::GraphProto& graph, const GraphOrder& order) {
  std::unordered_map<std::string, Place> places;
  for (auto node = order.nodes.rbegin(); node != order.nodes.rend(); ++node) {
    const onnx::NodeProto& proto = graph.node(*node);
    if (!is_onnx_domain(proto.domain())) continue;
    for (int i = 0; i < proto.input_size(); ++i) {
      const Slot slot = slot_of(proto.op_type(), static_cast<size_t>(i));
      if (slot == Slot::statistic) places[proto.input(i)] = Place::statistic;
      else if (slot == Slot::weight) places.try_emplace(proto.input(i), Place::weight);
      else if (proto.op_type() == "Identity" && places.contains(proto.output(0)))
        places.try_emplace(proto.input(i), places[proto.output(0)]);
    }
  }
  return places;
}

}  // namespace

Result<bool> lift_weights(ModelFile& file, const GraphOrder& order, std::vector<std::string>& notes) {
  onnx::GraphProto& graph = *file.model.mutable_graph();
  const bool torch = file.model.producer_name() == "pytorch";
  const auto places = find_places(graph, order);
  std::unordered_map<std::string, KnownValue> shapes;  // what a ConstantOfShape may read
  for (const onnx::TensorProto& tensor : graph.initializer())
    if (tensor.data_type() == onnx::TensorProto::INT64 && tensor.dims_size() == 1)
      if (auto known = known_value_of(tensor)) shapes.emplace(tensor.name(), std::move(*known));

  std::vector<onnx::TensorProto> lifted;
  std::unordered_set<std::string> names;
  int64_t filled = 0, bytes = 0;
  for (const int index : order.nodes) {
    const onnx::NodeProto& node = graph.node(index);
    if (!is_onnx_domain(node.domain()) || node.output_size() != 1) continue;
    const bool constant = node.op_type() == "Constant", fill = node.op_type() == "ConstantOfShape";
    if (!constant && !fill) continue;
    std::vector<FoldInput> inputs;
    for (const std::string& input : node.input())
      inputs.push_back({shapes.contains(input) ? &shapes.at(input) : nullptr, nullptr});
    const auto place = places.find(node.output(0));
    const auto* value = constant ? find_attribute(node, "value") : nullptr;
    if (constant && place == places.end()) {
      if (value && value->t().data_type() == onnx::TensorProto::INT64)
        if (auto known = known_value_of(value->t())) shapes.emplace(node.output(0), std::move(*known));
      continue;
    }
    if (place == places.end() || (constant && torch && place->second != Place::statistic)) continue;
    if (constant) {
      if (!value || value->t().data_type() != onnx::TensorProto::FLOAT) continue;
      lifted.push_back(value->t());
      lifted.back().set_name(node.output(0));
    } else {
      const auto known = fold(node, opset_of(file.model), inputs);
      if (!known || known->element != onnx::TensorProto::FLOAT || !known->elements()) continue;
      bytes += *known->elements() * 4;
      if (bytes > kModelBytesLimit)
        return Error{ExitCode::unsupported, fmt::format("{}: with it, the model's weights are larger than 2 GiB", describe(node))};
      lifted.push_back(to_tensor(*known, node.output(0)));
      ++filled;
    }
    names.insert(node.output(0));
  }
  if (lifted.empty()) return false;
  const auto count = static_cast<int64_t>(lifted.size());
  notes.push_back(fmt::format("{} {} written as nodes of the model and taken as initializers", counted(count, "weight"), is_or_are(count)));
  if (filled > 0)
    notes.push_back(fmt::format("of that, {} with one value in all elements: train from random weights instead", counted(filled, "weight")));
  remove_makers(graph, names);
  for (onnx::TensorProto& tensor : lifted) add_initializer(file.model, std::move(tensor));
  return true;
}

}  // namespace plimsoll
