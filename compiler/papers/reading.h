// How a paper reads a network: layers over data, with the nodes left out that only view a value under other dimensions.
// The beginning of the rules of vDNN and of Chen et al.; and the costs that such plans are made with.
#pragma once

#include <map>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "compiler/ir/network.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct ReadLayer {
  std::string name = {}, op = {};
  std::vector<ValueId> x = {};           // data, views followed to what they view; no labels
  std::vector<TensorType> x_types = {};  // as the node sees them
  std::vector<ValueId> y = {};
  std::vector<ValueId> parameters = {};  // trained
  Affine flops = {};                     // of the forward pass
};

struct ReadNetwork {
  std::vector<ReadLayer> layers = {};         // that the first output needs, in order; the last is a softmax
  IdVector<ValueId, ValueId> root = {};       // what a value views, or itself
  ValueId images = {};
};

// Where the network has neither softmax nor loss, a layer "softmax" is put at its end, whose y is invalid.
// Error: unsupported, with each operator once that is neither a view nor among `known`; `whose` names the rules.
Result<ReadNetwork> read_network(const Network& network, std::string_view whose, std::span<const std::string_view> known);

// What such rules build graphs with.
class RuleGraph {
 public:
  RuleGraph(const Network& network, int64_t batch);
  TensorId tensor(const std::string& name, TensorKind kind, const TensorType& type);
  Task task(const ReadLayer& layer, std::string_view what, std::string_view op, TaskKind kind) const;
  void use(Task& task, TensorId tensor, Access access) const;  // absent where the tensor is invalid
  // Parameters are read, and in the backward their gradients added to: persistent tensors, made when first asked for.
  void use_parameters(Task& task, const ReadLayer& layer, bool backward);
  void put(Task task) { graph.tasks.push_back(std::move(task)); }

  TaskGraph graph;

 private:
  const Network& network_;
  IdVector<ValueId, TensorId> weight_, weight_gradient_;
  std::map<std::string, int> names_;
};

// Bytes of a kind of tensors, all together, and of its largest.
int64_t bytes_of(const Plan& plan, TensorKind kind);
int64_t largest_of(const Plan& plan, TensorKind kind);

inline bool is_softmax(const ReadLayer& layer) { return layer.op == "Softmax" || layer.op == "SoftmaxCrossEntropyLoss"; }

// No workspaces; a task takes the longer of its arithmetic and its memory traffic (modelled). Forgets its tasks' kernels:
// two tasks are told apart by name.
class RooflineCosts : public Costs {
 public:
  struct Rates {
    double flops_per_second, bytes_per_second, copy_bytes_per_second;
  };
  explicit RooflineCosts(const Rates& rates) : rates_(rates) {}
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;
  LinkRates links() const override { return {rates_.copy_bytes_per_second, rates_.copy_bytes_per_second, 0}; }

 private:
  Rates rates_;
  std::map<std::pair<std::string, int64_t>, AlgorithmCost> costs_;
};

}  // namespace plimsoll
