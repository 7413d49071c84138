// How a paper reads a network: layers over data, without nodes that only reshape a value. Shared by the rules of vDNN
// and of Chen et al., with the costs for such plans.
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
  std::vector<ValueId> x = {};           // data operands, with views resolved; no labels
  std::vector<TensorType> x_types = {};  // as the node sees them
  std::vector<ValueId> y = {};
  std::vector<ValueId> parameters = {};  // trained
  Affine flops = {};                     // of the forward
};

struct ReadNetwork {
  std::vector<ReadLayer> layers = {};         // those that the first output needs, in order; the last is a softmax
  IdVector<ValueId, ValueId> root = {};       // the value that a view refers to, or the value itself
  ValueId images = {};
};

// If the network has neither a softmax nor a loss, a layer "softmax" with an invalid y is appended. Error: unsupported,
// listing each operator that is neither a view nor in `known`; `whose` names the rules.
Result<ReadNetwork> read_network(const Network& network, std::string_view whose,
                                 std::span<const std::string_view> known);

// Builds the task graph of such rules.
class RuleGraph {
 public:
  RuleGraph(const Network& network, int64_t batch);
  TensorId tensor(const std::string& name, TensorKind kind, const TensorType& type);
  Task task(const ReadLayer& layer, std::string_view what, std::string_view op, TaskKind kind) const;
  void use(Task& task, TensorId tensor, Access access) const;  // absent if the tensor is invalid
  // Reads the parameters and, in the backward, adds to their gradients: persistent tensors, created on first use.
  void use_parameters(Task& task, const ReadLayer& layer, bool backward);
  void put(Task task) { graph.tasks.push_back(std::move(task)); }

  TaskGraph graph;

 private:
  const Network& network_;
  IdVector<ValueId, TensorId> weight_, weight_gradient_;
  std::map<std::string, int> names_;
};

// Total bytes of all tensors of a kind, and bytes of the largest.
int64_t bytes_of(const Plan& plan, TensorKind kind);
int64_t largest_of(const Plan& plan, TensorKind kind);

inline bool is_softmax(const ReadLayer& layer) {
  return layer.op == "Softmax" || layer.op == "SoftmaxCrossEntropyLoss";
}

// No workspaces. A task takes the maximum of its compute and memory times (modelled). Tasks are identified by name;
// their kernels are ignored.
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
