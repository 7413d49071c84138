#include "compiler/network/simplify/unshare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compiler/network/simplify/graph_edit.h"
#include "compiler/network/simplify/module_path.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// "layer1.bn.bias", as in a state_dict, or "onnx::LSTM_171", a parameter that the exporter has folded. Values computed
// by nodes are called "/layer1/Relu_output_0" or, before PyTorch 1.13, "45".
bool is_parameter_name(std::string_view name) {
  if (name.empty() || name.starts_with('/')) return false;
  return !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Unsharer {
 public:
  Unsharer(Model& model, const GraphOrder& order) : model_(model), order_(order) {}

  bool run(std::vector<std::string>& notes) {
    if (model_.producer != "pytorch") return false;
    find_merged();
    if (merged_.empty()) return false;
    std::unordered_set<std::string> made;
    std::string shown;
    for (const auto& [name, initializer] : merged_) {
      ModelTensor copy = model_.initializers[initializer];  // with the same elements
      copy.name = name;
      model_.initializers.push_back(std::move(copy));
      if (made.insert(name).second && made.size() <= 3) shown += (shown.empty() ? "'" : ", '") + name + "'";
    }
    const auto count = static_cast<int64_t>(made.size());
    notes.push_back(fmt::format("the exporter merged {} with {}; {} separated: {}{}", counted(count, "weight"),
                                count == 1 ? "an equal one" : "equal ones", count == 1 ? "it is" : "they are", shown,
                                made.size() > 3 ? ", …" : ""));
    remove_makers(model_, made);
    return true;
  }

 private:
  // Whether the node represents a parameter that the exporter merged into another.
  static bool is_merged_parameter(const ModelNode& node) {
    return node.op == "Identity" && is_of_onnx(node) && node.inputs.size() == 1 && node.outputs.size() == 1 &&
           !is_by_dynamo(node) && is_parameter_name(node.outputs[0]);
  }

  // Every name that a node reads, except for the initializer's own, becomes an initializer. An output of the graph
  // keeps its Identity, because it needs a maker.
  void find_merged() {
    std::unordered_map<std::string, size_t> root;  // name → initializer, also through Identity
    for (size_t i = 0; i < model_.initializers.size(); ++i)
      if (model_.initializers[i].type == ElementType::f32) root.emplace(model_.initializers[i].name, i);
    std::unordered_set<std::string> outputs;
    for (const auto& output : model_.outputs) outputs.insert(output.name);
    for (const int i : order_.nodes) {
      const ModelNode& node = model_.nodes[i];
      const bool is_merged = is_merged_parameter(node);
      for (const std::string& input : node.inputs) {
        const auto found = root.find(input);
        if (found == root.end()) continue;
        const size_t initializer = found->second;
        if (is_merged) root.emplace(node.outputs[0], initializer);
        else if (input != model_.initializers[initializer].name && !outputs.contains(input))
          merged_.emplace(input, initializer);
      }
    }
  }

  Model& model_;
  const GraphOrder& order_;
  std::map<std::string, size_t> merged_ = {};  // merged name → the initializer it was merged into
};

}  // namespace

bool unshare_weights(Model& model, const GraphOrder& order, std::vector<std::string>& notes) {
  return Unsharer(model, order).run(notes);
}

}  // namespace plimsoll
