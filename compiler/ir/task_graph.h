// The task and data flow graph of one round of a training iteration: the specification that every plan answers.
// Immutable once built (training/build.h). Offload, prefetch and recomputation are steps of a plan, never edits here.
//
//   task  one kernel launch. Its operands have slots, as the kernel has them; each is read, written or updated.
//   tensor  written by one task (or an input, a parameter, state) and never changed, but for the kinds that `update`
//           operands change in place: weight, optimizer_state, statistic, weight_gradient.
//
// The order of `tasks` is a valid order of execution; so is every order that keeps reads after writes, the updates of a
// tensor in their order here, and a weight's update (kind update) after all its readers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/attributes.h"
#include "compiler/ir/tensor_type.h"
#include "compiler/support/ids.h"

namespace plimsoll {

enum class TensorKind {
  input,
  activation,
  activation_gradient,
  weight,
  weight_gradient,
  optimizer_state,
  statistic,
  stash,  // what a forward task leaves for its backward task only: pool indices, saved mean
};

struct Tensor {
  std::string name = {};  // "conv1.Y"; unique in the graph
  TensorKind kind = TensorKind::activation;
  TensorType type = {};
  std::string onnx_name = {};    // value or initializer it comes from, where there is one
  // Weights, optimizer state and statistics live through the whole run. With several rounds so do weight gradients.
  bool persistent = false;
  // Of an integer input that picks rows of a table: its numbers are in [0, bound). 0: whatever they are.
  int64_t bound = 0;
  // Of labels: the one that the loss leaves out.
  std::optional<int64_t> ignored = {};
  // And those of each sample that it looks at: [first, end); end 0: all. Weights of the classes, if it has some.
  int64_t first_label = 0, end_label = 0;
  TensorId class_weights = {};
  // Of a slice (see sliced()): the whole that it is a part of, and its first byte there.
  TensorId slice_of = {};
  int64_t slice_begin = 0;
  int64_t bytes(int64_t samples) const { return type.at(samples).bytes(); }
};

enum class TaskKind { forward, loss, backward_data, backward_weights, backward, update };
inline bool is_forward(TaskKind kind) { return kind == TaskKind::forward || kind == TaskKind::loss; }

struct Operand {
  TensorId tensor = {};  // invalid: absent
  Access access = Access::absent;
  TensorType type = {};  // as the kernel sees it: a reshaped view has other dimensions than the tensor
  bool twice = false;    // read from memory in two passes
  int64_t begin = 0;     // the kernel sees a part of the tensor only, from this byte on
};

struct Task {
  std::string name = {};    // "conv1.forward"; unique in the graph
  std::string op = {};      // ONNX operator: "Conv"
  TaskKind kind = TaskKind::forward;
  std::string layer = {};   // the node's name
  std::string kernel = {};  // a name of runtime/attrs/kernels.def
  Attributes attributes = {};
  std::vector<Operand> operands = {};
  // Permission: the written tensor may lie on the bytes of the read one, whose last use this then is.
  struct InPlace {
    TensorId read;
    TensorId written;
    friend bool operator==(const InPlace&, const InPlace&) = default;
  };
  std::vector<InPlace> in_place = {};
  // Written the first time only: run again, the task reads what it remembers (batch statistics). So that stays where it is.
  std::vector<TensorId> remembers = {};
  Affine flops = {};
  bool may_run_again = true;   // false: a side effect cannot be left out, or the result would differ
  bool mixes_samples = false;  // batch statistics: splitting the batch changes the result
  bool whole_batch = false;    // and makes it wrong: what comes of the loss is no sum of the rounds' shares. Of tasks that mix samples

  std::vector<TensorId> reads() const { return touched(Access::read); }
  std::vector<TensorId> writes() const { return touched(Access::write); }
  std::vector<TensorId> updates() const { return touched(Access::update); }
  // Sum over the operands' bytes, one that is updated or read in two passes counted twice.
  int64_t bytes_moved(int64_t samples) const;

 private:
  std::vector<TensorId> touched(Access access) const;
};

// A trained (or frozen) tensor and the initializer that holds its first value.
struct Parameter {
  TensorId tensor = {};
  std::string initializer = {};     // ONNX name
  TensorType stored = {};           // dimensions and element type in the model file, plain layout
};

struct TaskGraph {
  std::string name = {};
  int64_t batch = 0;  // samples in one iteration: the loss is the mean over them
  int64_t slice_bytes = 0;  // a larger weight is updated slice by slice (sliced()); 0: none is
  bool whole_weights = false;  // of such: the state alone is cut
  int64_t ranks = 1;  // processes that share them; the tasks are those of one. Loss and gradients add up over all
  IdVector<TensorId, Tensor> tensors = {};
  IdVector<TaskId, Task> tasks = {};
  std::vector<TensorId> inputs = {};       // in the model's order; labels last
  std::vector<Parameter> parameters = {};  // weights and statistics
  TensorId loss = {};                      // f32[1]: this round's (and rank's) share of the iteration's mean loss
  TensorId correct = {};                   // f32[1]: samples whose largest logit is the label's; invalid for mse
  TensorId output = {};                    // the model's first output (logits)
};

// The task as it is run again: what it remembers is read, so that whatever else it reads is read once; what it updates is not
// there. Of a task that remembers nothing, the task itself.
Task as_run_again(const Task& task);

// body(task) for everything that costs something of its own: each task, and as it is run again where that is less work.
template <class Body>
void for_each_work(const TaskGraph& graph, Body&& body) {
  for (const Task& task : graph.tasks) {
    body(task);
    if (!task.remembers.empty()) body(as_run_again(task));
  }
}

// The graph for iterations of several rounds: weight gradients persist and every task that wrote one adds to it
// (write → update); the update task, executed once after the last round, also clears it (read → update).
TaskGraph accumulating(TaskGraph graph);

// The graph for plans that update a weight of more than `slice_bytes` piece by piece, so that no more of weight and optimizer state
// than a piece is on the device for it. Such an update task is replaced by one for each slice: it updates the slices of weight and
// state, which are tensors of their own, and sees the part of the gradient that goes with them. An update task treats one element
// after the other, so the values are the same. slice_bytes: a multiple of 256, or 0 for the graph itself.
// `whole_weights`: the state alone is cut, and each task sees the part of the weight, as of the gradient, that goes with its slices.
TaskGraph sliced(TaskGraph graph, int64_t slice_bytes, bool whole_weights = false);

// The graph that a plan with so many rounds and slices of so many bytes answers; of that graph, the same again.
TaskGraph planned_graph(TaskGraph graph, int64_t rounds, int64_t slice_bytes, bool whole_weights);

std::string_view to_string(TensorKind kind);  // the words of plan.json
std::string_view to_string(TaskKind kind);

}  // namespace plimsoll
