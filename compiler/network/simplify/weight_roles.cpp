#include "compiler/network/simplify/weight_roles.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "compiler/ir/known_value.h"
#include "compiler/network/simplify/differentiable.h"
#include "compiler/network/simplify/exporter_numbers.h"
#include "compiler/ops/op.h"

namespace plimsoll {
namespace {

Elements elements_of(const ModelNode& node) {
  const Op* op = find_onnx_op(node.op);
  return op ? op->elements : Elements::computed;
}

bool reads_shapes(const ModelNode& node) {
  const Op* op = find_onnx_op(node.op);
  return op && op->reads_shapes;
}

// A recurrent operator, whose weights the exporter concatenates from those of the gates.
bool has_state(std::string_view name) {
  const Op* op = find_onnx_op(name);
  return op && std::find(op->inputs.begin(), op->inputs.end(), Slot::state) != op->inputs.end();
}

bool is_normalization(std::string_view op) { return op.ends_with("Normalization"); }

int64_t longer_axes(const ModelTensor& tensor) {
  return std::count_if(tensor.dims.begin(), tensor.dims.end(), [](int64_t dim) { return dim != 1; });
}

class RoleFinder {
 public:
  RoleFinder(const Model& model, const GraphOrder& order) : model_(model), order_(order) {}

  std::unordered_map<std::string, WeightRole> run() {
    for (const ModelTensor& tensor : model_.initializers)
      if (tensor.type == ElementType::f32) root_[tensor.name] = {&tensor};
    std::unordered_set<std::string_view> constants;
    for (const ModelTensor& tensor : model_.initializers) constants.insert(tensor.name);
    for (const auto& input : model_.inputs)
      if (!constants.contains(input.name)) fed_.insert(input.name);
    for (const int index : order_.nodes) follow(model_.nodes[index]);
    find_roots();
    for (const int index : order_.nodes)
      if (is_of_onnx(model_.nodes[index])) look_at(model_.nodes[index]);
    return std::move(roles_);
  }

 private:
  using Roots = std::vector<const ModelTensor*>;

  // Before: the makers of the node's inputs have been followed.
  void follow(const ModelNode& node) {
    bool fed = false;
    for (const std::string& input : node.inputs) {
      readers_[input].push_back(&node);
      fed |= fed_.contains(input);
    }
    const bool of_shape = reads_shapes(node);
    for (const std::string& output : node.outputs) {
      maker_[output] = &node;
      if (fed && !of_shape) fed_.insert(output);
    }
    if (!is_of_onnx(node) || node.inputs.empty()) return;
    // Readers of the output read the weights.
    if (elements_of(node) == Elements::shown) {
      if (const auto found = root_.find(node.inputs[0]); found != root_.end()) {
        const Roots roots = found->second;
        for (const std::string& output : node.outputs) root_[output] = roots;
      }
    } else if (elements_of(node) == Elements::joined) {
      Roots joined;
      for (const std::string& input : node.inputs) {
        const auto found = root_.find(input);
        if (found == root_.end()) return;
        joined.insert(joined.end(), found->second.begin(), found->second.end());
      }
      root_[node.outputs[0]] = std::move(joined);
    }
  }

  // The single initializer of which a name is a form.
  const ModelTensor* initializer(const std::string& name) const {
    const auto found = root_.find(name);
    return found == root_.end() || found->second.size() != 1 ? nullptr : found->second[0];
  }

  const ModelNode* maker(const std::string& name) const {
    const auto found = maker_.find(name);
    return found == maker_.end() ? nullptr : found->second;
  }

  // The node that computes it, skipping nodes that only change its form.
  const ModelNode* computed_by(const std::string& name) const {
    const ModelNode* node = maker(name);
    while (node && is_of_onnx(*node) && elements_of(*node) == Elements::shown && node->inputs.size() > 0)
      node = maker(node->inputs[0]);
    return node && is_of_onnx(*node) ? node : nullptr;
  }

  void look_at(const ModelNode& node) {
    const std::string& op = node.op;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto roots = root_.find(node.inputs[i]);
      if (roots == root_.end()) continue;
      // A product of weights with each other (the power iteration of a spectral norm) is not a layer.
      const bool weight = is_weight(slot_of(op, i)) && fed_.contains(node.inputs[0]);
      if (weight && i == 2 && adds_number(node))
        roles_[roots->second[0]->name] = {WeightRole::Kind::epsilon,
                                          fmt::format("number that {} adds in place of a bias", describe(node))};
      else if (weight && (roots->second.size() == 1 || has_state(op)))
        for (const ModelTensor* root : roots->second)
          roles_[root->name] = {WeightRole::Kind::parameter, fmt::format("weight of {}", describe(node))};
      if (weight || roots->second.size() != 1) continue;
      const ModelTensor& tensor = *roots->second[0];
      if (op == "Add" && node.inputs.size() == 2) look_at_addend(node, node.inputs[1 - i], tensor);
      if (op == "Sub" && i == 0) look_at_addend(node, node.inputs[1], tensor);
      // tf2onnx merges equal numbers, so others that read this one do not make it a parameter.
      if (model_.producer == "tf2onnx" && is_comparison(node) && longer_axes(tensor) == 0 &&
          is_whole(node.inputs[1 - i]))
        roles_.try_emplace(tensor.name,
                           WeightRole{WeightRole::Kind::epsilon,
                                      fmt::format("number that {} compares with integers", describe(node))});
      if (is_bound(node) && longer_axes(tensor) == 0 && only_bounds_roots(tensor.name))
        roles_.try_emplace(tensor.name,
                           WeightRole{WeightRole::Kind::epsilon,
                                      fmt::format("bound that {} sets for a square root", describe(node))});
      if (op == "Mul" && node.inputs.size() == 2 && is_scale(tensor, node.inputs[1 - i]))
        roles_.try_emplace(tensor.name, WeightRole{WeightRole::Kind::parameter,
                                                     fmt::format("normalization scale, read by {}", describe(node))});
      if (op == "Gather" && i == 0 && node.inputs.size() == 2 && fed_.contains(node.inputs[1]) &&
          tensor.dims.size() == 2)
        roles_.try_emplace(tensor.name, WeightRole{WeightRole::Kind::parameter,
                                                     fmt::format("embedding table of {}", describe(node))});
    }
  }

  void look_at_addend(const ModelNode& node, const std::string& other, const ModelTensor& tensor) {
    const int64_t longer = longer_axes(tensor);
    const ModelNode* const layer = computed_by(other);
    if (layer && longer <= 1 && is_layer(*layer))
      roles_[tensor.name] = {WeightRole::Kind::parameter, fmt::format("bias of {}", describe(*layer))};
    else if (layer && layer->op == "Mul" && layer->inputs.size() == 2 &&
             (is_scaled_normalization(*layer) || (longer > 0 && is_scaled_mean(*layer))))
      roles_.try_emplace(tensor.name, WeightRole{WeightRole::Kind::parameter,
                                                   fmt::format("normalization shift, read by {}", describe(node))});
    else if (longer == 0 && goes_under_a_root(node) && readers_[tensor.name].size() == count_additions(tensor.name))
      roles_.try_emplace(tensor.name,
                         WeightRole{WeightRole::Kind::epsilon,
                                    fmt::format("epsilon that {} adds under a square root", describe(node))});
  }

  bool is_layer(const ModelNode& node) const {
    if (!is_of_onnx(node) || node.inputs.size() < 2 || !fed_.contains(node.inputs[0])) return false;
    if (node.op == "Conv" || node.op == "ConvTranspose") return true;
    // A Gemm may have the rows of its bias added to its result, if it has no bias of its own.
    const bool biased = node.inputs.size() > 2 && !node.inputs[2].empty() && !adds_number(node);
    const bool product = node.op == "MatMul" || (node.op == "Gemm" && !biased);
    return product && initializer(node.inputs[1]);
  }

  // Whether a Gemm of jax2onnx adds the number that the exporter puts in place of a bias. No layer of JAX has a bias
  // without dimensions.
  bool adds_number(const ModelNode& gemm) const {
    if (model_.producer != "jax2onnx" || gemm.op != "Gemm" || gemm.inputs.size() < 3) return false;
    const ModelTensor* const added = initializer(gemm.inputs[2]);
    return added && added->dims.empty();
  }

  // Whether it is the output of a normalization, as an ONNX operator or as primitive operators: divided by a square
  // root, or multiplied by the inverse of one.
  bool is_normalized(const std::string& name) const {
    const ModelNode* node = computed_by(name);
    if (!node || !fed_.contains(name)) return false;
    if (is_normalization(node->op)) return true;
    if (node->inputs.size() != 2) return false;
    if (node->op == "Div") return is_root(node->inputs[1]);
    return node->op == "Mul" && (is_inverse_root(node->inputs[0]) || is_inverse_root(node->inputs[1]));
  }

  bool is_root(const std::string& name) const {
    const ModelNode* node = computed_by(name);
    return node && node->op == "Sqrt";
  }

  bool is_inverse_root(const std::string& name) const {
    const ModelNode* node = computed_by(name);
    return node && ((node->op == "Reciprocal" && is_root(node->inputs[0])) ||
                    (node->op == "Div" && node->inputs.size() == 2 && is_root(node->inputs[1]) &&
                     !fed_.contains(node->inputs[0])));
  }

  // Keras multiplies the scale by the inverse root first: x * (scale / root) + (shift - mean * (scale / root)).
  bool is_scale(const ModelTensor& tensor, const std::string& other) const {
    return is_normalized(other) || (longer_axes(tensor) > 0 && fed_.contains(other) && is_inverse_root(other));
  }

  // The product of a mean, perhaps negated, and an inverse root, perhaps with a scale.
  bool is_scaled_mean(const ModelNode& mul) const {
    return std::any_of(mul.inputs.begin(), mul.inputs.end(), [&](const std::string& name) {
      if (is_inverse_root(name)) return true;
      const ModelNode* node = computed_by(name);
      if (!node || node->op != "Mul" || node->inputs.size() != 2) return false;
      return (initializer(node->inputs[0]) && is_inverse_root(node->inputs[1])) ||
             (initializer(node->inputs[1]) && is_inverse_root(node->inputs[0]));
    });
  }

  bool is_scaled_normalization(const ModelNode& mul) const {
    return (initializer(mul.inputs[0]) && is_normalized(mul.inputs[1])) ||
           (initializer(mul.inputs[1]) && is_normalized(mul.inputs[0]));
  }

  bool goes_under_a_root(const ModelNode& node) const {
    const auto found = readers_.find(node.outputs[0]);
    if (found == readers_.end()) return false;
    return std::all_of(found->second.begin(), found->second.end(), [](const ModelNode* reader) {
      return reader->op == "Sqrt" && is_of_onnx(*reader);
    });
  }

  size_t count_additions(const std::string& name) const {
    const auto& readers = readers_.at(name);
    return static_cast<size_t>(std::count_if(readers.begin(), readers.end(), [&](const ModelNode* reader) {
      return reader->op == "Add" && goes_under_a_root(*reader);
    }));
  }

  // The Cast that makes a value, skipping nodes that only change its form.
  const ModelNode* cast_before(const std::string& name) const {
    const ModelNode* node = maker(name);
    while (node && is_of_onnx(*node) && node->op != "Cast" && elements_of(*node) == Elements::shown &&
           !node->inputs.empty())
      node = maker(node->inputs[0]);
    return node && is_of_onnx(*node) && node->op == "Cast" ? node : nullptr;
  }

  // Whether all of its elements are whole numbers: cast from integers, as TensorFlow's exporter compares indices.
  bool is_whole(const std::string& name) const {
    const ModelNode* const cast = cast_before(name);
    if (!cast || cast->inputs.empty()) return false;
    const auto input = std::find_if(model_.inputs.begin(), model_.inputs.end(),
                                    [&](const DeclaredValue& of) { return of.name == cast->inputs[0]; });
    if (input != model_.inputs.end()) return !is_real(input->type);
    const ModelNode* const from = cast_before(cast->inputs[0]);
    const ModelAttribute* const to = from ? find_attribute(*from, "to") : nullptr;
    return to && !is_real(static_cast<ElementType>(to->integer()));
  }

  static bool is_comparison(const ModelNode& node) {
    return is_of_onnx(node) && node.inputs.size() == 2 &&
           (node.op.starts_with("Less") || node.op.starts_with("Greater") || node.op == "Equal");
  }

  static bool is_bound(const ModelNode& node) {
    return (node.op == "Max" || node.op == "Min") && node.inputs.size() == 2 && is_of_onnx(node);
  }

  // Finds the values that are read by square roots only, or by an addition of an epsilon under one, also behind another
  // form of them.
  void find_roots() {
    std::unordered_set<std::string_view> outputs;
    for (const DeclaredValue& output : model_.outputs) outputs.insert(output.name);
    const auto is_under_a_root = [&](const ModelNode* reader) {
      if (!is_of_onnx(*reader) || reader->outputs.empty()) return false;
      if (reader->op == "Sqrt") return true;
      return (reader->op == "Add" || elements_of(*reader) == Elements::shown) &&
             under_a_root_.contains(reader->outputs[0]);
    };
    for (auto index = order_.nodes.rbegin(); index != order_.nodes.rend(); ++index)
      for (const std::string& output : model_.nodes[*index].outputs) {
        const auto found = readers_.find(output);
        if (found == readers_.end() || outputs.contains(output)) continue;
        if (std::all_of(found->second.begin(), found->second.end(), is_under_a_root)) under_a_root_.insert(output);
      }
  }

  bool only_bounds_roots(const std::string& name) const {
    const auto& readers = readers_.at(name);
    return std::all_of(readers.begin(), readers.end(), [&](const ModelNode* reader) {
      return is_bound(*reader) && under_a_root_.contains(reader->outputs[0]);
    });
  }

  const Model& model_;
  const GraphOrder& order_;
  // Names are those of the model, which is not changed meanwhile.
  std::unordered_map<std::string_view, Roots> root_ = {};  // initializers, also if the name is another form of them
  std::unordered_set<std::string_view> fed_ = {};  // values that depend on the elements of an input of the model
  std::unordered_map<std::string_view, std::vector<const ModelNode*>> readers_ = {};
  std::unordered_map<std::string_view, const ModelNode*> maker_ = {};
  std::unordered_set<std::string_view> under_a_root_ = {};
  std::unordered_map<std::string, WeightRole> roles_ = {};
};

}  // namespace

std::unordered_map<std::string, std::string> exporter_marks(const Model& model) {
  std::unordered_map<std::string, std::string> marks;
  for (const DeclaredValue& value : model.values)
    for (const auto& entry : value.metadata)
      if (entry.key == "pkg.torch.export.graph_signature.InputSpec.kind") marks.emplace(value.name, entry.value);
  return marks;
}

bool is_variable_of_tensorflow(std::string_view name) { return name.find("ReadVariableOp") != name.npos; }

bool names_variables_of_tensorflow(const Model& model) {
  return model.producer == "tf2onnx" &&
         std::any_of(model.initializers.begin(), model.initializers.end(),
                     [](const ModelTensor& tensor) { return is_variable_of_tensorflow(tensor.name); });
}

std::unordered_map<std::string, WeightRole> find_weight_roles(const Model& model, const GraphOrder& order) {
  auto roles = RoleFinder(model, order).run();
  for (const std::string& name : perhaps_exporter_numbers(model)) roles.erase(name);
  if (model.producer == "plimsoll")
    for (const ModelTensor& tensor : model.initializers)
      if (tensor.type == ElementType::f32)
        roles.try_emplace(tensor.name, WeightRole{WeightRole::Kind::parameter,
                                                    "a parameter, as in every network of `plimsoll model`"});
  if (model.producer == "tf2onnx")
    for (const ModelTensor& tensor : model.initializers)
      if (tensor.type == ElementType::f32 && is_variable_of_tensorflow(tensor.name))
        if (auto& role = roles[tensor.name]; role.reason.empty() || role.kind == WeightRole::Kind::epsilon)
          role = {WeightRole::Kind::parameter, "a variable of the TensorFlow model"};
  for (const auto& [name, kind] : exporter_marks(model))
    if (kind == "PARAMETER") roles[name] = {WeightRole::Kind::parameter, "the exporter marks it as a parameter"};
  if (model.author)
    for (const std::string& name : model.author->trained)
      roles[name] = {WeightRole::Kind::parameter, "plimsoll.export lists it as trained"};
  return roles;
}

WeightUses find_weight_uses(const Model& model, const GraphOrder& order) {
  return {.roles = find_weight_roles(model, order), .reached = reached_by_gradients(model, order)};
}

}  // namespace plimsoll
