// How an operator says its tasks. The builder owns the naming of tensors, the sums where a gradient arrives twice and
// the adding up of weight gradients; an operator only says what its kernels read and write.
//
//   forward:   build.task({.kernel = "ReluForward", .operands = {build.read_input(0), build.write_output(0)},
//                          .in_place = {{0, 1}}});
//   backward:  build.task({.kernel = "ReluBackward", .kind = TaskKind::backward_data,
//                          .operands = {build.read_output(0), build.read_gradient(0), build.write_gradient(0)},
//                          .in_place = {{1, 2}}});
#pragma once

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "compiler/ir/task_graph.h"
#include "compiler/ops/fed_labels.h"
#include "compiler/ops/node_view.h"

namespace plimsoll {

// A task as an operator states it; name, layer and op are the builder's.
struct TaskSpec {
  std::string kernel = {};
  TaskKind kind = TaskKind::forward;
  Attributes attributes = {};
  std::vector<Operand> operands = {};            // in the kernel's slots
  std::vector<std::pair<int, int>> in_place = {};  // slots {read, written}: permission to share bytes
  Affine flops = {};
  std::vector<int> twice = {};      // slots that are read from memory in two passes
  std::vector<int> remembers = {};  // slots that are written the first time, and read when the task is run again
  bool may_run_again = true;
  bool mixes_samples = false;
};

class TaskBuilder {
 public:
  TaskBuilder(const Network& network, TaskGraph& graph);

  // --- for operators: the current node ---
  const NodeView& node() const { return *node_; }
  int64_t batch() const { return graph_.batch; }  // samples in one iteration, all rounds: the loss is a mean over them
  bool batch_is_whole() const { return batch_is_whole_; }  // they are all in one round, for some node needs them all at once

  Operand read_input(size_t i);   // absent when the optional input is left out
  Operand update_input(size_t i);  // a statistic that the forward task moves
  // Input i picks rows: the trainer looks that what it feeds is in [0, bound). Nothing for a value that a task computes.
  void bound_input(size_t i, int64_t bound);
  // The same of labels: one more number is let through.
  void bound_labels(size_t i, int64_t classes, int64_t ignored);
  // What the trainer has to know of labels that it feeds: of a loss, they are as many of a sample as all rounds' mean is divided by.
  // `weights`: of classes; absent: all count for 1. Nothing for labels that are not fed.
  void feed_labels(const FedLabels& labels, int64_t classes, int64_t ignored, const Operand& weights, bool is_term);
  Operand write_output(size_t i);  // absent when nobody asked for the output
  // Output i is input j under other dimensions: no task, no bytes (Reshape, Flatten, Identity).
  void alias_output(size_t output, size_t input);

  // A tensor that the forward task leaves for the backward task. `what` names it: "indices", "mean".
  Operand write_stash(const std::string& what, const TensorType& type);
  Operand read_stash(const std::string& what) const;

  // Backward. read_gradient(o) is absent when no gradient reaches output o.
  Operand read_output(size_t i);
  bool has_gradient(size_t output) const;
  Operand read_gradient(size_t output);
  bool wants_gradient(size_t input) const;
  // The gradient of input i, as something for this task to write; `update` where an earlier task wrote the weight
  // gradient already (shared weights), absent where nobody wants it. Kernels that write a gradient of data overwrite it, but a weight's
  // gradient is a sum; so a weight in a place of data gets what the task wrote added by a task of its own, unless the task is of kind
  // backward_weights, which says that its kernel adds.
  Operand write_gradient(size_t input);
  // The gradient of input i is a tensor that this node's backward made (write_scratch, or another input's gradient).
  void give_gradient(size_t input, const Operand& made);
  // A tensor between two tasks of one node; read it with `as_read`.
  Operand write_scratch(const std::string& what, const TensorType& type);

  void task(TaskSpec spec);

  // --- for training/build.cpp ---
  // `whole`: which nodes need all samples of the iteration at once.
  void need_whole_batch(IdVector<NodeId, bool> whole);
  void enter_forward(NodeId node);
  void enter_backward(NodeId node);
  void leave_backward();  // sums what arrived twice
  void seed_gradient(ValueId value, TensorId gradient);
  void set_wants_gradient(ValueId value) { wants_[value] = true; }
  TensorId tensor_of(ValueId value) const { return tensor_of_[value]; }
  TensorId gradient_of(ValueId value) const { return gradient_of_[value]; }
  TensorId add_tensor(Tensor tensor);
  void bind(ValueId value, TensorId tensor) { tensor_of_[value] = tensor; }

 private:
  Operand operand(TensorId tensor, Access access, const TensorType& type) const;
  Tensor* fed_to(size_t input);  // nullptr: a task makes it
  std::string unique(std::string name, std::map<std::string, int>& taken);

  const Network& network_;
  TaskGraph& graph_;
  std::optional<NodeView> node_;
  NodeId node_id_;
  IdVector<ValueId, TensorId> tensor_of_;
  IdVector<ValueId, TensorId> gradient_of_;
  IdVector<ValueId, bool> wants_;
  IdVector<NodeId, bool> whole_;
  bool batch_is_whole_ = false;
  std::map<std::pair<NodeId, std::string>, Operand> stashes_;
  // Gradients of weights that the node at hand reads as data.
  std::set<TensorId> gradients_of_data_;
  // Second contributions of the node at hand, to be added when it is left.
  std::vector<std::pair<ValueId, TensorId>> arrived_twice_;
  std::map<std::string, int> tensor_names_, task_names_;
};

// The same tensor, read: by a later task of the node that made it.
inline Operand as_read(const Operand& made) { return {made.tensor, Access::read, made.type}; }

// Convenience for elements-proportional flops.
Affine flops_per_element(const TensorType& type, int64_t flops);

}  // namespace plimsoll
