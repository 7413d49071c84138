#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "compiler/import/graph_edit.h"
#include "compiler/import/load.h"
#include "compiler/import/module_path.h"
#include "compiler/import/weights.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// "layer1.bn.bias", as a state_dict has it, or "onnx::LSTM_171", a parameter that the exporter has folded. What a node computes is
// called "/layer1/Relu_output_0" or, before PyTorch 1.13, "45".
bool is_parameter_name(std::string_view name) {
  if (name.empty() || name.starts_with('/')) return false;
  return !std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
}

class Unsharer {
 public:
  Unsharer(ModelFile& file, const GraphOrder& order) : model_(file.model), graph_(*model_.mutable_graph()), order_(order) {}

  bool run(std::vector<std::string>& notes) {
    if (model_.producer_name() != "pytorch") return false;
    find_merged();
    if (merged_.empty()) return false;
    std::unordered_set<std::string> made;
    std::string shown;
    for (const auto& [name, initializer] : merged_) {
      onnx::TensorProto copy = graph_.initializer(initializer);
      copy.set_name(name);
      add_initializer(model_, std::move(copy));
      if (made.insert(name).second && made.size() <= 3) shown += (shown.empty() ? "'" : ", '") + name + "'";
    }
    const auto count = static_cast<int64_t>(made.size());
    notes.push_back(fmt::format("the exporter had merged {} with an equal one; {} again: {}{}", counted(count, "weight"),
                                count == 1 ? "it is a weight of its own" : "they are weights of their own", shown,
                                made.size() > 3 ? ", …" : ""));
    remove_makers(graph_, made);
    return true;
  }

 private:
  // Whether the node is what the exporter leaves of a parameter that it merged into another.
  static bool is_merged_parameter(const onnx::NodeProto& node) {
    return node.op_type() == "Identity" && is_onnx_domain(node.domain()) && node.input_size() == 1 && node.output_size() == 1 &&
           !is_by_dynamo(node) && is_parameter_name(node.output(0));
  }

  // Every name that a node reads, but the initializer's own, becomes an initializer. An output of the graph keeps its Identity: it
  // needs a maker.
  void find_merged() {
    std::unordered_map<std::string, int> root;  // name → initializer, also through Identity
    for (int i = 0; i < graph_.initializer_size(); ++i)
      if (graph_.initializer(i).data_type() == onnx::TensorProto::FLOAT) root.emplace(graph_.initializer(i).name(), i);
    std::unordered_set<std::string> outputs;
    for (const auto& output : graph_.output()) outputs.insert(output.name());
    for (const int i : order_.nodes) {
      const onnx::NodeProto& node = graph_.node(i);
      const bool is_merged = is_merged_parameter(node);
      for (const std::string& input : node.input()) {
        const auto found = root.find(input);
        if (found == root.end()) continue;
        const int initializer = found->second;
        if (is_merged) root.emplace(node.output(0), initializer);
        else if (input != graph_.initializer(initializer).name() && !outputs.contains(input)) merged_.emplace(input, initializer);
      }
    }
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& graph_;
  const GraphOrder& order_;
  std::map<std::string, int> merged_ = {};  // name that was merged → the initializer it was merged into
};

}  // namespace

bool unshare_weights(ModelFile& file, const GraphOrder& order, std::vector<std::string>& notes) {
  return Unsharer(file, order).run(notes);
}

}  // namespace plimsoll
