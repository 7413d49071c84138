#include "compiler/import/weight_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "compiler/import/load.h"
#include "compiler/import/slots.h"
#include "compiler/import/tensor_data.h"

namespace plimsoll {
namespace {

// Nodes that only show a weight in another form: what reads their result reads the weight.
bool shows_again(std::string_view op) {
  constexpr std::array<std::string_view, 10> kViews = {"Cast",  "Expand", "Flatten", "Identity",  "Reshape",
                                                       "Slice", "Split",  "Squeeze", "Transpose", "Unsqueeze"};
  return std::find(kViews.begin(), kViews.end(), op) != kViews.end();
}

bool is_recurrent(std::string_view op) { return op == "LSTM" || op == "GRU" || op == "RNN"; }

bool is_normalization(std::string_view op) { return op.ends_with("Normalization"); }

int64_t longer_axes(const onnx::TensorProto& tensor) {
  return std::count_if(tensor.dims().begin(), tensor.dims().end(), [](int64_t dim) { return dim != 1; });
}

class RoleFinder {
 public:
  RoleFinder(const onnx::GraphProto& graph, const GraphOrder& order) : graph_(graph), order_(order) {}

  std::unordered_map<std::string, WeightRole> run() {
    for (const onnx::TensorProto& tensor : graph_.initializer())
      if (tensor.data_type() == onnx::TensorProto::FLOAT) root_[tensor.name()] = {&tensor};
    std::unordered_set<std::string> constants;
    for (const onnx::TensorProto& tensor : graph_.initializer()) constants.insert(tensor.name());
    for (const auto& input : graph_.input())
      if (!constants.contains(input.name())) fed_.insert(input.name());
    for (const int index : order_.nodes) follow(graph_.node(index));
    for (const int index : order_.nodes)
      if (is_onnx_domain(graph_.node(index).domain())) look_at(graph_.node(index));
    return std::move(roles_);
  }

 private:
  using Roots = std::vector<const onnx::TensorProto*>;

  // Before: the makers of what it reads have been followed.
  void follow(const onnx::NodeProto& node) {
    bool fed = false;
    for (const std::string& input : node.input()) {
      readers_[input].push_back(&node);
      fed |= fed_.contains(input);
    }
    const bool of_shape = node.op_type() == "Shape" || node.op_type() == "Size";
    for (const std::string& output : node.output()) {
      maker_[output] = &node;
      if (fed && !of_shape) fed_.insert(output);
    }
    if (!is_onnx_domain(node.domain()) || node.input_size() == 0) return;
    if (shows_again(node.op_type())) {
      if (const auto found = root_.find(node.input(0)); found != root_.end()) {
        const Roots roots = found->second;
        for (const std::string& output : node.output()) root_[output] = roots;
      }
    } else if (node.op_type() == "Concat") {
      Roots joined;
      for (const std::string& input : node.input()) {
        const auto found = root_.find(input);
        if (found == root_.end()) return;
        joined.insert(joined.end(), found->second.begin(), found->second.end());
      }
      root_[node.output(0)] = std::move(joined);
    }
  }

  // The one initializer that a name is a form of.
  const onnx::TensorProto* initializer(const std::string& name) const {
    const auto found = root_.find(name);
    return found == root_.end() || found->second.size() != 1 ? nullptr : found->second[0];
  }

  const onnx::NodeProto* maker(const std::string& name) const {
    const auto found = maker_.find(name);
    return found == maker_.end() ? nullptr : found->second;
  }

  // What computes it, passing over nodes that show it in another form.
  const onnx::NodeProto* computed_by(const std::string& name) const {
    const onnx::NodeProto* node = maker(name);
    while (node && is_onnx_domain(node->domain()) && shows_again(node->op_type()) && node->input_size() > 0)
      node = maker(node->input(0));
    return node && is_onnx_domain(node->domain()) ? node : nullptr;
  }

  void look_at(const onnx::NodeProto& node) {
    const std::string& op = node.op_type();
    for (int i = 0; i < node.input_size(); ++i) {
      const auto roots = root_.find(node.input(i));
      if (roots == root_.end()) continue;
      // A product of weights with each other (the power iteration of a spectral norm) is no layer.
      const bool weight = slot_of(op, static_cast<size_t>(i)) == Slot::weight && fed_.contains(node.input(0));
      if (weight && (roots->second.size() == 1 || is_recurrent(op)))
        for (const onnx::TensorProto* root : roots->second)
          roles_[root->name()] = {WeightRole::Kind::parameter, fmt::format("a weight of {}", describe(node))};
      if (weight || roots->second.size() != 1) continue;
      const onnx::TensorProto& tensor = *roots->second[0];
      if (op == "Add" && node.input_size() == 2) look_at_addend(node, node.input(1 - i), tensor);
      if (op == "Mul" && node.input_size() == 2 && is_normalized(node.input(1 - i)))
        roles_.try_emplace(tensor.name(), WeightRole{WeightRole::Kind::parameter,
                                                     fmt::format("a scale of a normalization, by {}", describe(node))});
      if (op == "Gather" && i == 0 && node.input_size() == 2 && fed_.contains(node.input(1)) && tensor.dims_size() == 2)
        roles_.try_emplace(tensor.name(), WeightRole{WeightRole::Kind::parameter,
                                                     fmt::format("a table of embeddings of {}", describe(node))});
    }
  }

  void look_at_addend(const onnx::NodeProto& node, const std::string& other, const onnx::TensorProto& tensor) {
    const int64_t longer = longer_axes(tensor);
    const onnx::NodeProto* const layer = computed_by(other);
    if (layer && longer <= 1 && is_layer(*layer))
      roles_[tensor.name()] = {WeightRole::Kind::parameter, fmt::format("a bias of {}", describe(*layer))};
    else if (layer && layer->op_type() == "Mul" && layer->input_size() == 2 && is_scaled_normalization(*layer))
      roles_.try_emplace(tensor.name(), WeightRole{WeightRole::Kind::parameter,
                                                   fmt::format("a shift of a normalization, by {}", describe(node))});
    else if (longer == 0 && goes_under_a_root(node) && readers_[tensor.name()].size() == count_additions(tensor.name()))
      roles_.try_emplace(tensor.name(),
                         WeightRole{WeightRole::Kind::epsilon,
                                    fmt::format("an epsilon: {} adds it to what a square root reads", describe(node))});
  }

  bool is_layer(const onnx::NodeProto& node) const {
    if (!is_onnx_domain(node.domain()) || node.input_size() < 2 || !fed_.contains(node.input(0))) return false;
    if (node.op_type() == "Conv" || node.op_type() == "ConvTranspose") return true;
    return node.op_type() == "MatMul" && initializer(node.input(1));
  }

  // Whether a normalization made it, of ONNX's or spelled out: divided by a square root, or times the inverse of one.
  bool is_normalized(const std::string& name) const {
    const onnx::NodeProto* node = computed_by(name);
    if (!node || !fed_.contains(name)) return false;
    if (is_normalization(node->op_type())) return true;
    if (node->input_size() != 2) return false;
    if (node->op_type() == "Div") return is_root(node->input(1));
    return node->op_type() == "Mul" && (is_inverse_root(node->input(0)) || is_inverse_root(node->input(1)));
  }

  bool is_root(const std::string& name) const {
    const onnx::NodeProto* node = computed_by(name);
    return node && node->op_type() == "Sqrt";
  }

  bool is_inverse_root(const std::string& name) const {
    const onnx::NodeProto* node = computed_by(name);
    return node && ((node->op_type() == "Reciprocal" && is_root(node->input(0))) ||
                    (node->op_type() == "Div" && node->input_size() == 2 && is_root(node->input(1)) &&
                     !fed_.contains(node->input(0))));
  }

  bool is_scaled_normalization(const onnx::NodeProto& mul) const {
    return (initializer(mul.input(0)) && is_normalized(mul.input(1))) ||
           (initializer(mul.input(1)) && is_normalized(mul.input(0)));
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
  std::unordered_map<std::string, Roots> root_ = {};  // name → initializers, also where it is another form of them
  std::unordered_set<std::string> fed_ = {};          // what depends on the elements of an input of the model
  std::unordered_map<std::string, std::vector<const onnx::NodeProto*>> readers_ = {};
  std::unordered_map<std::string, const onnx::NodeProto*> maker_ = {};
  std::unordered_map<std::string, WeightRole> roles_ = {};
};

}  // namespace

std::unordered_map<std::string, std::string> exporter_marks(const onnx::GraphProto& graph) {
  std::unordered_map<std::string, std::string> marks;
  for (const onnx::ValueInfoProto& value : graph.value_info())
    for (const auto& entry : value.metadata_props())
      if (entry.key() == "pkg.torch.export.graph_signature.InputSpec.kind") marks.emplace(value.name(), entry.value());
  return marks;
}

std::unordered_map<std::string, WeightRole> find_weight_roles(const ModelFile& file, const GraphOrder& order) {
  const onnx::GraphProto& graph = file.model.graph();
  auto roles = RoleFinder(graph, order).run();
  if (file.model.producer_name() == "plimsoll")
    for (const onnx::TensorProto& tensor : graph.initializer())
      if (tensor.data_type() == onnx::TensorProto::FLOAT)
        roles.try_emplace(tensor.name(), WeightRole{WeightRole::Kind::parameter,
                                                    "a parameter: networks of `plimsoll model` have no other tensors"});
  for (const auto& [name, kind] : exporter_marks(graph))
    if (kind == "PARAMETER") roles[name] = {WeightRole::Kind::parameter, "the exporter marks it as a parameter"};
  if (file.author)
    for (const std::string& name : file.author->trained)
      roles[name] = {WeightRole::Kind::parameter, "plimsoll.export lists it as trained"};
  return roles;
}

}  // namespace plimsoll
