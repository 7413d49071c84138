// The task and data flow graph of one round of a training iteration: the specification that a plan implements.
// Immutable once built (training/build.h). Offload, prefetch and recomputation are steps of a plan, never edits of the
// graph.
//
//   task    one kernel launch. Its operands are in the kernel's order; each is read, written or updated.
//   tensor  written by one task (or an input, a parameter, state) and never changed, except for the kinds that `update`
//           operands change in place: weight, optimizer_state, statistic, weight_gradient.
//
// The order of `tasks` is a valid execution order. So is every order that keeps reads after writes, the updates of a
// tensor in their order here, and a weight's update (kind update) after all its readers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compiler/ir/attributes.h"
#include "compiler/ir/forms.h"
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
  // Saved for backward: written by a forward task for its backward task only, such as pool indices or a saved mean.
  stash,
};

struct Tensor {
  std::string name = {};  // "conv1.Y"; unique in the graph
  TensorKind kind = TensorKind::activation;
  TensorType type = {};
  std::string onnx_name = {};    // the ONNX value or initializer that it comes from, if any
  // Weights, optimizer state and statistics live for the whole run. With several rounds so do weight gradients.
  bool persistent = false;
  // Of an integer input that selects rows of a table: its elements are in [0, bound). 0: unrestricted.
  int64_t bound = 0;
  // Of labels: the label value that the loss ignores.
  std::optional<int64_t> ignored = {};
  // Of labels: those of each sample that the loss uses, [first, end); end 0: all. And the class weights, if any.
  int64_t first_label = 0, end_label = 0;
  TensorId class_weights = {};
  bool mixed_labels = false;  // of labels: each is one of a mixed sample (runtime/attrs/mixed_label.h)
  // Of a slice (see sliced()): the whole that it is part of, and its first byte in it.
  TensorId slice_of = {};
  int64_t slice_begin = 0;
  int64_t bytes(int64_t samples) const { return type.bytes(samples); }
};

enum class TaskKind { forward, loss, backward_data, backward_weights, backward, update };
inline bool is_forward(TaskKind kind) { return kind == TaskKind::forward || kind == TaskKind::loss; }

struct Operand {
  TensorId tensor = {};  // invalid: absent
  Access access = Access::absent;
  TensorType type = {};  // as the kernel sees it: a reshaped view has other dimensions than the tensor
  bool twice = false;    // read from memory in two passes
  int64_t begin = 0;     // the kernel sees only a part of the tensor, which begins at this byte
};

struct Task {
  std::string name = {};    // "conv1.forward"; unique in the graph
  std::string op = {};      // ONNX operator: "Conv"
  TaskKind kind = TaskKind::forward;
  std::string layer = {};   // the node's name
  std::string kernel = {};  // a name of runtime/attrs/kernels.def
  Attributes attributes = {};
  std::vector<Operand> operands = {};
  // Permission: the written tensor may share the bytes of the read one, if this is the read one's last use.
  struct InPlace {
    TensorId read;
    TensorId written;
    friend bool operator==(const InPlace&, const InPlace&) = default;
  };
  std::vector<InPlace> in_place = {};
  // Outputs written only in the first run. A recomputation reads them instead (batch statistics), so they stay
  // resident.
  std::vector<TensorId> remembers = {};
  Affine flops = {};
  bool may_run_again = true;   // false: it has a side effect that cannot be omitted, or its result would differ
  bool mixes_samples = false;  // batch statistics: splitting the batch changes the result
  // Implies mixes_samples: splitting makes the result wrong, because the loss is not a sum of the rounds' shares.
  bool whole_batch = false;

  std::vector<TensorId> reads() const { return touched(Access::read); }
  std::vector<TensorId> writes() const { return touched(Access::write); }
  std::vector<TensorId> updates() const { return touched(Access::update); }
  // Sum of the operands' bytes. An operand that is updated or read in two passes counts twice.
  int64_t bytes_moved(int64_t samples) const;

 private:
  std::vector<TensorId> touched(Access access) const;
};

// A weight or statistic, and the initializer with its initial value.
struct Parameter {
  TensorId tensor = {};
  std::string initializer = {};     // ONNX name
  TensorType stored = {};           // dimensions and element type in the model file, plain layout
  TensorId low = {};                // of a weight in bf16: its lower half in i16 (runtime/split_weight.h)
};

struct TaskGraph {
  std::string name = {};
  int64_t batch = 0;  // samples per iteration; the loss is their mean
  int64_t slice_bytes = 0;  // weights that are larger in f32 are updated in slices (sliced()); 0: none
  bool whole_weights = false;  // with slices: only the optimizer state is cut
  // Processes that share the samples; the tasks are those of one rank. Loss and gradients are summed over all.
  int64_t ranks = 1;
  FormsOfParts forms = {};       // as Network::forms
  std::string layout = {};       // as Plan::layout
  std::string rules = "true";    // as Plan::rules: a paper counts other tasks and bytes
  IdVector<TensorId, Tensor> tensors = {};
  IdVector<TaskId, Task> tasks = {};
  std::vector<TensorId> inputs = {};       // in the model's order; labels last
  std::vector<Parameter> parameters = {};  // weights and statistics
  TensorId loss = {};                      // f32[1]: the share of this round (and rank) in the iteration's mean loss
  TensorId correct = {};                   // f32[1]: samples whose largest logit is the label's; invalid for mse
  TensorId output = {};                    // the model's first output (logits)
  TensorId factor = {};  // f32[1]: in fp16, of all gradients; negative if the updates are skipped. Otherwise invalid
};

// Why the batch may not be split into rounds or over ranks: for a message. Empty if it may be.
std::string why_batch_is_whole(const TaskGraph& graph);

// The task as it is recomputed: saved tensors are read, every tensor is read once, and updates are omitted. A task that
// saves nothing is returned unchanged.
Task as_run_again(const Task& task);

// Calls body(task) for everything with its own cost: each task, and its recomputation if that is less work.
template <class Body>
void for_each_work(const TaskGraph& graph, Body&& body) {
  for (const Task& task : graph.tasks) {
    body(task);
    if (!task.remembers.empty()) body(as_run_again(task));
  }
}

// The graph with all weight gradients in f32, also those that `graph` has in bf16. For gradients that are added up.
TaskGraph with_gradients_in_f32(TaskGraph graph);

// The graph for iterations of several rounds. Weight gradients persist in f32, and every task that writes one adds to
// it instead (write → update). The update task, executed once after the last round, also clears it (read → update).
TaskGraph accumulating(TaskGraph graph);

// The graph for plans that update weights of more than `slice_bytes` slice by slice, so that only a slice of the weight
// and optimizer state has to be on the device at a time. Each such update task is replaced by one per slice. It updates
// the slices of weight and state, which are separate tensors, and sees the matching part of the gradient. An update
// task works element by element, so the values are the same. `slice_bytes`: a multiple of 256, or 0 for the unchanged
// graph. `whole_weights`: only the state is cut, and each task sees the matching part of the weight, as it does of the
// gradient.
TaskGraph sliced(TaskGraph graph, int64_t slice_bytes, bool whole_weights = false);

// The graph for plans with this number of rounds and this slice size. Idempotent.
TaskGraph planned_graph(TaskGraph graph, int64_t rounds, int64_t slice_bytes, bool whole_weights);

std::string_view to_string(TensorKind kind);  // the words of plan.json
std::string_view to_string(TaskKind kind);

}  // namespace plimsoll
