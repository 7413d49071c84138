#include <fmt/format.h>

#include <map>
#include <unordered_map>
#include <unordered_set>

#include "compiler/import/fold.h"
#include "compiler/import/graph_edit.h"
#include "compiler/import/load.h"
#include "compiler/import/module_path.h"
#include "compiler/import/slots.h"
#include "compiler/import/weights.h"
#include "compiler/support/counted.h"

namespace plimsoll {
namespace {

// One input of one node that is an initializer, perhaps by way of Identity nodes.
struct Use {
  int node = 0;
  int input = 0;
  std::string alias = {};  // the name that stands in the node
};

class Unsharer {
 public:
  Unsharer(ModelFile& file, const GraphOrder& order) : model_(file.model), graph_(*model_.mutable_graph()), order_(order) {}

  bool run(std::vector<std::string>& notes) {
    find_uses();
    const int before = graph_.initializer_size();  // copies are added behind
    for (int i = 0; i < before; ++i)
      if (uses_[static_cast<size_t>(i)].size() > 1) part(i);
    if (made_.empty()) return false;
    const auto count = static_cast<int64_t>(made_.size());
    std::string shown;
    for (size_t i = 0; i < std::min<size_t>(made_.size(), 3); ++i) shown += (i ? ", '" : "'") + made_[i] + "'";
    notes.push_back(fmt::format("{} that the exporter had merged with an equal one {} apart again: {}{}",
                                counted(count, "weight"), is_or_are(count), shown, made_.size() > 3 ? ", …" : ""));
    remove_makers(graph_, replaced_);
    return true;
  }

 private:
  void find_uses() {
    for (int i = 0; i < graph_.initializer_size(); ++i) {
      root_.emplace(graph_.initializer(i).name(), i);
      names_.insert(graph_.initializer(i).name());
    }
    for (const auto& input : graph_.input()) names_.insert(input.name());
    uses_.resize(static_cast<size_t>(graph_.initializer_size()));
    for (const onnx::NodeProto& node : graph_.node())
      for (const std::string& output : node.output()) names_.insert(output);
    for (const auto& output : graph_.output()) ++alias_uses_[output.name()];
    for (const int i : order_.nodes) {
      const onnx::NodeProto& node = graph_.node(i);
      for (const std::string& output : node.output()) maker_[output] = i;
      for (int j = 0; j < node.input_size(); ++j) {
        ++alias_uses_[node.input(j)];
        const auto found = root_.find(node.input(j));
        if (found == root_.end()) continue;
        const int initializer = found->second;
        if (node.op_type() == "Identity" && is_onnx_domain(node.domain()) && node.output_size() == 1)
          root_.emplace(node.output(0), initializer);
        else
          uses_[static_cast<size_t>(initializer)].push_back({i, j, node.input(j)});
      }
    }
  }

  // The initializer of at least two dimensions that makes this node the layer it is, or -1.
  int main_weight(const onnx::NodeProto& node) const {
    for (int j = 0; j < std::min(node.input_size(), 2); ++j) {
      const auto found = root_.find(node.input(j));
      if (found != root_.end() && graph_.initializer(found->second).dims_size() >= 2) return found->second;
    }
    return -1;
  }

  // Equal for nodes that are the same layer applied again.
  std::string layer_of(int index) const {
    const onnx::NodeProto& node = graph_.node(index);
    if (const std::string path = module_path_of(node); !path.empty()) return "module " + path;
    if (const int weight = main_weight(node); weight >= 0) return fmt::format("weight {}", weight);
    for (const std::string& input : node.input()) {
      const auto maker = maker_.find(input);
      if (maker == maker_.end()) continue;
      if (const int weight = main_weight(graph_.node(maker->second)); weight >= 0) return fmt::format("behind weight {}", weight);
    }
    return fmt::format("node {}", index);
  }

  static bool is_vector(const onnx::TensorProto& tensor) {  // [C], or as a broadcast has it: [C,1,1]
    int longer = 0;
    for (const int64_t dim : tensor.dims()) longer += dim != 1;
    return tensor.data_type() == onnx::TensorProto::FLOAT && tensor.dims_size() >= 1 && longer <= 1;
  }

  // Whose the use is; empty for uses that may be shared.
  std::string owner_of(const Use& use, const onnx::TensorProto& tensor) const {
    const onnx::NodeProto& node = graph_.node(use.node);
    const Slot slot = slot_of(node.op_type(), static_cast<size_t>(use.input));
    const bool bias_by_hand = node.op_type() == "Add" || node.op_type() == "Mul";  // of MatMul + Add, LayerNorm in pieces
    const bool own = slot == Slot::statistic || ((slot == Slot::weight || bias_by_hand) && is_vector(tensor));
    return own ? fmt::format("{} {} {}", layer_of(use.node), node.op_type(), use.input) : std::string();
  }

  void part(int initializer) {
    const onnx::TensorProto& tensor = graph_.initializer(initializer);
    std::map<std::string, size_t> group_of;
    std::vector<std::vector<Use>> groups;
    for (const Use& use : uses_[static_cast<size_t>(initializer)]) {
      const auto [at, fresh] = group_of.emplace(owner_of(use, tensor), groups.size());
      if (fresh) groups.emplace_back();
      groups[at->second].push_back(use);
    }
    if (groups.size() < 2) return;
    // The original stays with the uses that share it, else with whom its name belongs to, else with the first.
    size_t keeper = 0;
    if (const auto shared = group_of.find(""); shared != group_of.end()) keeper = shared->second;
    else
      for (size_t g = groups.size(); g-- > 0;)
        if (groups[g][0].alias == tensor.name()) keeper = g;
    for (size_t g = 0; g < groups.size(); ++g)
      if (g != keeper) give_copy(initializer, groups[g]);
  }

  void give_copy(int initializer, const std::vector<Use>& uses) {
    onnx::TensorProto copy = graph_.initializer(initializer);
    const std::string original = copy.name();
    copy.set_name(name_of_copy(original, uses));
    for (const Use& use : uses) graph_.mutable_node(use.node)->set_input(use.input, copy.name());
    made_.push_back(copy.name());
    names_.insert(copy.name());
    add_initializer(model_, std::move(copy));
  }

  // The name that the weight had before it was merged, where that can be told.
  std::string name_of_copy(const std::string& original, const std::vector<Use>& uses) {
    const std::string& alias = uses[0].alias;
    const bool all = std::all_of(uses.begin(), uses.end(), [&](const Use& use) { return use.alias == alias; });
    if (alias != original && all && alias_uses_[alias] == static_cast<int>(uses.size())) {
      replaced_.insert(alias);  // its Identity goes, and the copy takes the name
      return alias;
    }
    const onnx::NodeProto& node = graph_.node(uses[0].node);
    std::string layer = module_path_of(node);
    if (layer.empty()) layer = node.name().empty() ? node.output(0) : node.name();
    const std::string base = layer + "." + role_of(node.op_type(), uses[0].input, original);
    std::string name = base;
    for (int copy = 2; names_.contains(name); ++copy) name = fmt::format("{}_{}", base, copy);
    return name;
  }

  static std::string role_of(std::string_view op, int input, const std::string& original) {
    static constexpr const char* kRoles[] = {"input", "weight", "bias", "running_mean", "running_var"};
    static constexpr const char* kRecurrent[] = {"X", "W", "R", "B"};  // as ONNX calls them
    if ((op == "LSTM" || op == "GRU" || op == "RNN") && input < 4) return kRecurrent[input];
    if (slot_of(op, static_cast<size_t>(input)) != Slot::data && input < 5) return kRoles[input];
    const size_t dot = original.rfind('.');
    return dot == std::string::npos ? (op == "Add" ? "bias" : "weight") : original.substr(dot + 1);
  }

  onnx::ModelProto& model_;
  onnx::GraphProto& graph_;
  const GraphOrder& order_;
  std::unordered_map<std::string, int> root_ = {};        // name → initializer, also through Identity
  std::unordered_map<std::string, int> maker_ = {};       // name → node
  std::unordered_map<std::string, int> alias_uses_ = {};  // readers of a name
  std::unordered_set<std::string> names_ = {};            // taken
  std::vector<std::vector<Use>> uses_ = {};               // by initializer
  std::vector<std::string> made_ = {};
  std::unordered_set<std::string> replaced_ = {};
};

}  // namespace

bool unshare_weights(ModelFile& file, const GraphOrder& order, std::vector<std::string>& notes) {
  return Unsharer(file, order).run(notes);
}

}  // namespace plimsoll
