// Network → TaskGraph: forward tasks in the network's order, the loss, backward tasks in reverse order with sums at
// fan-out, and one update task per trained parameter.
//
// Before: the network is checked (every operator known, every type inferred) and ends in a loss node (attach_loss).
// After:  the graph is complete and immutable: its tensors and their readers are decided here.
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

enum class OptimizerKind { sgd, momentum, adam, adamw, lamb, lion };

// How the state of an optimizer is stored between two updates, which compute in f32. int8: 8 bits and a scale for each
// block of 256 elements.
enum class StateType { fp32, bf16, int8 };

// Betas and epsilon are options of the trainer, with the kernel's attributes as defaults.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::momentum;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  double clip_norm = 0;  // maximum 2-norm of all gradients together; 0: no clipping
  StateType state = StateType::fp32;
};

struct TrainingOptions {
  int64_t batch = 1;  // samples per iteration
  OptimizerOptions optimizer = {};
  // Kernels that can add another gradient to the one that they compute do so, instead of a task that adds two
  // (TaskSpec::adds_to). Set for backends whose libraries add in the same pass.
  bool join_gradients = false;
  int threads = 1;  // with two, independent parts run concurrently; the graph is the same
};

// Error: unsupported, if a gradient is needed through an operator without one; names the parameter that cannot be
// trained.
Result<TaskGraph> build_task_graph(const Network& network, const TrainingOptions& options);

}  // namespace plimsoll
