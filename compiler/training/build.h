// Network → TaskGraph: forward tasks in the network's order, the loss, backward tasks in reverse with sums at fan-out,
// and one update task per trained parameter.
//
// Before: the network is checked (every operator known, every type inferred) and ends in a loss node (attach_loss).
// After:  the graph is complete and stays as it is; which tensors exist and who reads them is decided here for good.
#pragma once

#include "compiler/ir/network.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll {

enum class OptimizerKind { sgd, momentum, adam, adamw, lamb, lion };

// Betas and epsilon are the trainer's, which begins with those of the kernel's attributes.
struct OptimizerOptions {
  OptimizerKind kind = OptimizerKind::momentum;
  double momentum = 0.9;
  bool nesterov = false;
  double weight_decay = 0;
  double clip_norm = 0;  // most of all gradients together, by the 2-norm; 0: as they are
};

struct TrainingOptions {
  int64_t batch = 1;  // samples in one iteration
  OptimizerOptions optimizer = {};
};

// Error: unsupported, when a gradient is needed through an operator that has none, naming the parameter behind it.
Result<TaskGraph> build_task_graph(const Network& network, const TrainingOptions& options);

}  // namespace plimsoll
