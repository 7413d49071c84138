// Graphs inside nodes, written into the model: the branch that an If takes, the body of a SequenceMap.
#pragma once

#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "compiler/ir/model.h"

namespace plimsoll {

using ValueNames = std::unordered_map<std::string, std::string>;  // in a graph inside a node → in the model

class InnerGraphs {
 public:
  explicit InnerGraphs(Model& model);

  // Adds the initializers of the graph to the model. Returns their names there. An initializer keeps its name if no
  // other value has it, so that the graph in the file can read what a trainer saves (write_back of
  // import/plain_model.h). Otherwise it gets a new name, which begins with `prefix`.
  ValueNames add_initializers(const ModelGraph& graph, const std::string& prefix);
  // The name of a weight that could not keep it. Empty: none.
  const std::string& renamed_weight() const { return renamed_weight_; }

  // Adds the nodes of the graph to `nodes`. Their outputs get new names, which begin with `prefix`, because values
  // outside and in other graphs may have the same names. A node that only states a tensor keeps its name if no other
  // value has it, for the same reason as an initializer; otherwise its `refusal` is set. `names`: of the graph's inputs
  // and initializers, outside. Returns the names of its outputs.
  std::vector<std::string> write(const ModelGraph& graph, ValueNames names, const std::string& prefix,
                                 const Metadata& metadata, std::vector<ModelNode>& nodes);

  // A name for a value that no other has: "prefix/name", or with a number.
  std::string free_name(const std::string& prefix, const std::string& name);

 private:
  Model& model_;
  std::unordered_set<std::string> taken_ = {};
  std::string renamed_weight_ = {};
  std::unordered_map<std::string, int> copies_ = {};  // of a name that was asked for: the last number given
};

// Why a weight that is not an initializer of the model cannot be trained under another name than the file's.
std::string refusal_of_renamed(const std::string& weight);
inline constexpr const char* kRenameAdvice = "give it a name of its own";

// About how much memory such nodes take. In a copy of a graph, names are longer by at most `per_name` bytes, and
// metadata by at most `per_node`. Real numbers, because those of a damaged file may be huge.
double bytes_of(const Metadata& metadata);
double bytes_of(const ModelNode& node, double per_name = 0, double per_node = 0);
double bytes_of(const ModelGraph& graph, double per_name, double per_node);

}  // namespace plimsoll
