#include "compiler/import/weight_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "compiler/import/load.h"
#include "compiler/import/slots.h"
#include "compiler/import/tensor_data.h"

namespace plimsoll {
namespace {

class RoleFinder {
 public:
  RoleFinder(const onnx::GraphProto& graph, const GraphOrder& order) : graph_(graph), order_(order) {}

  std::unordered_map<std::string, WeightRole> run() {
    for (const onnx::TensorProto& tensor : graph_.initializer())
      if (tensor.data_type() == onnx::TensorProto::FLOAT) root_.emplace(tensor.name(), &tensor);
    for (const int index : order_.nodes) {
      const onnx::NodeProto& node = graph_.node(index);
      for (const std::string& input : node.input()) readers_[input].push_back(&node);
      for (const std::string& output : node.output()) maker_[output] = &node;
      if (node.op_type() == "Identity" && is_onnx_domain(node.domain()) && node.input_size() == 1)
        if (const onnx::TensorProto* tensor = initializer(node.input(0))) root_.emplace(node.output(0), tensor);
    }
    for (const int index : order_.nodes)
      if (is_onnx_domain(graph_.node(index).domain())) look_at(graph_.node(index));
    return std::move(roles_);
  }

 private:
  const onnx::TensorProto* initializer(const std::string& name) const {
    const auto found = root_.find(name);
    return found == root_.end() ? nullptr : found->second;
  }

  const onnx::NodeProto* maker(const std::string& name) const {
    const auto found = maker_.find(name);
    return found == maker_.end() ? nullptr : found->second;
  }

  void look_at(const onnx::NodeProto& node) {
    for (int i = 0; i < node.input_size(); ++i) {
      const onnx::TensorProto* tensor = initializer(node.input(i));
      if (!tensor) continue;
      if (slot_of(node.op_type(), static_cast<size_t>(i)) == Slot::weight)
        roles_[tensor->name()] = {WeightRole::Kind::parameter, fmt::format("a weight of {}", describe(node))};
      else if (node.op_type() == "Add" && node.input_size() == 2)
        look_at_addend(node, node.input(1 - i), *tensor);
    }
  }

  void look_at_addend(const onnx::NodeProto& node, const std::string& other, const onnx::TensorProto& tensor) {
    const int64_t longer =
        std::count_if(tensor.dims().begin(), tensor.dims().end(), [](int64_t dim) { return dim != 1; });
    if (const onnx::NodeProto* layer = maker(other); layer && longer <= 1 && is_layer(*layer))
      roles_[tensor.name()] = {WeightRole::Kind::parameter, fmt::format("a bias of {}", describe(*layer))};
    else if (longer == 0 && goes_under_a_root(node) && readers_[tensor.name()].size() == count_additions(tensor.name()))
      roles_.try_emplace(tensor.name(),
                         WeightRole{WeightRole::Kind::epsilon,
                                    fmt::format("an epsilon: {} adds it to what a square root reads", describe(node))});
  }

  bool is_layer(const onnx::NodeProto& node) const {
    if (!is_onnx_domain(node.domain())) return false;
    if (node.op_type() == "Conv" || node.op_type() == "ConvTranspose") return true;
    if (node.op_type() != "MatMul" || node.input_size() != 2) return false;
    const onnx::NodeProto* turned = maker(node.input(1));
    return initializer(node.input(1)) || (turned && turned->op_type() == "Transpose" && initializer(turned->input(0)));
  }

  bool goes_under_a_root(const onnx::NodeProto& node) const {
    const auto found = readers_.find(node.output(0));
    if (found == readers_.end()) return false;
    return std::all_of(found->second.begin(), found->second.end(), [](const onnx::NodeProto* reader) {
      return reader->op_type() == "Sqrt" && is_onnx_domain(reader->domain());
    });
  }

  size_t count_additions(const std::string& name) const {
    const auto& readers = readers_.at(name);
    return static_cast<size_t>(std::count_if(readers.begin(), readers.end(), [&](const onnx::NodeProto* reader) {
      return reader->op_type() == "Add" && goes_under_a_root(*reader);
    }));
  }

  const onnx::GraphProto& graph_;
  const GraphOrder& order_;
  std::unordered_map<std::string, const onnx::TensorProto*> root_ = {};  // name → initializer, also through Identity
  std::unordered_map<std::string, std::vector<const onnx::NodeProto*>> readers_ = {};
  std::unordered_map<std::string, const onnx::NodeProto*> maker_ = {};
  std::unordered_map<std::string, WeightRole> roles_ = {};
};

}  // namespace

std::unordered_map<std::string, WeightRole> find_weight_roles(const ModelFile& file, const GraphOrder& order) {
  auto roles = RoleFinder(file.model.graph(), order).run();
  if (file.author)
    for (const std::string& name : file.author->trained)
      roles[name] = {WeightRole::Kind::parameter, "plimsoll.export lists it as trained"};
  return roles;
}

}  // namespace plimsoll
