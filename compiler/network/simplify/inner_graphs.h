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

  // Adds the nodes of the graph to `nodes`, and its initializers to the model. Values inside may have the names of
  // values outside, and two graphs usually use the same names, so all of them get new ones, which begin with `prefix`.
  // `names`: what its inputs are outside. Returns the names of its outputs.
  std::vector<std::string> write(const ModelGraph& graph, ValueNames names, const std::string& prefix,
                                 const Metadata& metadata, std::vector<ModelNode>& nodes);

  // A name for a value that no other has: "prefix/name", or with a number.
  std::string free_name(const std::string& prefix, const std::string& name);

 private:
  Model& model_;
  std::unordered_set<std::string> taken_ = {};
};

}  // namespace plimsoll
