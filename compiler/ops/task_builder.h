// How an operator declares its tasks. The builder names tensors, adds gradients if a value receives several, and
// accumulates weight gradients. An operator only declares what its kernels read and write.
//
//   forward:   build.task({.kernel = "ReluForward", .operands = {build.read_input(0), build.write_output(0)},
//                          .in_place = {{0, 1}}});
//   backward:  build.task({.kernel = "ReluBackward", .kind = TaskKind::backward_data,
//                          .operands = {build.read_output(0), build.read_gradient(0), build.write_gradient(0)},
//                          .in_place = {{1, 2}}});
#pragma once

#include <concepts>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "compiler/ir/task_graph.h"
#include "compiler/ops/fed_labels.h"
#include "compiler/ops/node_view.h"
#include "compiler/ops/unique_names.h"

namespace plimsoll {

struct Op;

template <class T>
concept IsOperand = std::same_as<std::remove_cvref_t<T>, Operand>;

// Operands in the kernel's slots. Takes over those that it is made from: an initializer_list would copy their types.
struct OperandList : std::vector<Operand> {
  template <IsOperand... Each>
  OperandList(Each&&... each) {
    reserve(sizeof...(each));
    (push_back(std::forward<Each>(each)), ...);
  }
  OperandList(std::vector<Operand> operands) : std::vector<Operand>(std::move(operands)) {}
};

// A task as an operator declares it; the builder adds name, layer and op.
struct TaskSpec {
  std::string kernel = {};
  TaskKind kind = TaskKind::forward;
  Attributes attributes = {};
  OperandList operands = {};
  std::vector<std::pair<int, int>> in_place = {};  // slots {read, written} that may share bytes
  Affine flops = {};
  std::vector<int> twice = {};      // slots that are read from memory in two passes
  std::vector<int> remembers = {};  // slots that are written on the first run, and read when the task is recomputed
  // The slot of a gradient to which the kernel can add another tensor of the same type. That tensor is then an
  // additional operand, the last, whose bytes the result may take.
  int adds_to = -1;
  bool may_run_again = true;
  bool mixes_samples = false;
};

class TaskBuilder {
 public:
  // With two threads, names are compared beside other work; the graph is the same.
  TaskBuilder(const Network& network, TaskGraph& graph, int threads = 1);

  // --- for operators: the current node ---
  const NodeView& node() const { return *node_; }
  // samples in one iteration, over all rounds: the loss is a mean over them
  int64_t batch() const { return graph_.batch; }
  // Of the current node's results, whose first may be unused: bf16, f16, or f32 if none is reduced. Of a loss: of the
  // factors of its product.
  DataType type_of_results() const;
  // all samples are in one round, because some node needs them all at once
  bool batch_is_whole() const { return batch_is_whole_; }

  // Absent if the optional input is omitted. A factor of a product in bf16 or f16 is read as such (Op::factors): the
  // first such node adds a task that casts it.
  Operand read_input(size_t i);
  Operand update_input(size_t i);  // a statistic that the forward task updates
  // Input i selects rows: the trainer checks that the values it feeds are in [0, bound). No effect for a value that a
  // task computes.
  void bound_input(size_t i, int64_t bound);
  // The same for labels: one further value is accepted.
  void bound_labels(size_t i, int64_t classes, int64_t ignored);
  // What the trainer must know about the labels it feeds. For a loss: their number over all rounds is the divisor of
  // the mean. `weights`: class weights; absent: every label counts 1. No effect for labels that are not fed.
  void feed_labels(const FedLabels& labels, int64_t classes, int64_t ignored, const Operand& weights, bool is_term);
  // Input i is mixed labels, which the trainer makes of the classes of two samples.
  void feed_mixed_labels(size_t i, int64_t ignored, const Operand& weights);
  Operand write_output(size_t i);  // absent if the output is not used
  // Output i is input j with other dimensions: no task, no bytes (Reshape, Flatten, Identity).
  void alias_output(size_t output, size_t input);

  // A tensor that the forward task saves for the backward task. `what` names it: "indices", "mean".
  Operand write_stash(const std::string& what, const TensorType& type);
  Operand read_stash(const std::string& what) const;

  // Backward. read_gradient(o) is absent if no gradient reaches output o.
  Operand read_output(size_t i);
  bool has_gradient(size_t output) const;
  Operand read_gradient(size_t output);
  bool wants_gradient(size_t input) const;
  // The gradient of input i as an operand that this task writes: `update` if an earlier task already wrote the weight
  // gradient (shared weights), absent if the gradient is not needed. Kernels overwrite the gradient of data, but a
  // weight's gradient is a sum. So if a weight is used as data, a separate task adds what this task wrote, unless this
  // task is of kind backward_weights, which declares that its kernel accumulates.
  Operand write_gradient(size_t input);
  // The same of a product, whose kernel sums in f32 and rounds once, whatever type the gradient is stored in.
  Operand write_gradient_of_product(size_t input);
  // The gradient of input i is a tensor that this node's backward computed (write_scratch, or another input's
  // gradient).
  void give_gradient(size_t input, const Operand& made);
  // A tensor passed between two forward tasks of one node, stored as its results are; read it with `as_read`.
  Operand write_between(const std::string& what, const TensorType& type);
  // The same for two backward tasks.
  Operand write_scratch(const std::string& what, const TensorType& type);

  void task(TaskSpec spec);

  // --- for training/build.cpp ---
  void join_gradients() { joins_ = true; }
  // `whole`: which nodes need all samples of the iteration at once.
  void need_whole_batch(IdVector<NodeId, bool> whole);
  void enter_forward(NodeId node);
  void enter_backward(NodeId node);
  void leave_backward();  // sums the values that received several gradients
  void seed_gradient(ValueId value, TensorId gradient);
  void set_wants_gradient(ValueId value) { wants_[value] = true; }
  TensorType stored_type(ValueId value) const;  // as Value::reduced says
  TensorId tensor_of(ValueId value) const { return tensor_of_[value]; }
  TensorId gradient_of(ValueId value) const { return gradient_of_[value]; }
  TensorId add_tensor(Tensor tensor);
  void bind(ValueId value, TensorId tensor) { tensor_of_[value] = tensor; }
  // Stores the gradient of a weight in bf16 if the weight is in bf16 and one product computes the whole gradient. To be
  // called before settle_element_types().
  void narrow_gradients();
  // Makes the names of all tensors and tasks so far unique.
  void settle_names();
  // For the finished graph: operators view tensors as f32, and each operand gets its tensor's element type.
  void settle_element_types();

 private:
  // Lets the task that writes `more` add `before` to it, if it can; the sum is then in `more`.
  bool joined(TensorId before, TensorId more);
  bool is_cast_factor(size_t input) const;
  TensorId cast_factor(ValueId value);
  Operand operand(TensorId tensor, Access access, TensorType type) const;
  Tensor* fed_to(size_t input);  // nullptr: a task computes it
  const std::string& unique_name_of(TensorId tensor);

  const Network& network_;
  TaskGraph& graph_;
  std::optional<NodeView> node_;
  NodeId node_id_;
  const Op* op_ = nullptr;  // of the current node
  IdVector<ValueId, TensorId> tensor_of_;
  IdVector<ValueId, TensorId> gradient_of_;
  IdVector<ValueId, bool> wants_;
  IdVector<NodeId, bool> whole_;
  bool batch_is_whole_ = false;
  bool joins_ = false;
  std::map<TensorId, TaskId> may_add_;  // by gradient that the current node wrote: the task, if it can add
  IdVector<NodeId, std::vector<std::pair<std::string, Operand>>> stashes_;
  // Of values that are stored in f32, and read by products in bf16 or f16.
  std::map<std::pair<ValueId, DataType>, TensorId> casts_;
  std::set<ValueId> of_one_product_;  // weights whose gradient one product has computed, and nothing else yet
  // Gradients of weights that the current node reads as data.
  std::set<TensorId> gradients_of_data_;
  // Second contributions of the current node, added in leave_backward().
  std::vector<std::pair<ValueId, TensorId>> arrived_twice_;
  UniqueNames tensor_names_, task_names_;
};

// The same tensor as a read operand, for a later task of the node that created it.
inline Operand as_read(const Operand& made) { return {made.tensor, Access::read, made.type}; }

// Flops proportional to the number of elements.
Affine flops_per_element(const TensorType& type, int64_t flops);

}  // namespace plimsoll
