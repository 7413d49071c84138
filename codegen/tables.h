// Tables shared by the generated files: the distinct kernels, and the names of all addresses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/identifiers.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// A kernel, shared by all tasks that do the same work by the same algorithm.
struct KernelUse {
  std::string name;      // "conv_forward_3": an enumerator of the generated KernelIndex
  Task task;             // the first task that uses it, as executed: kernel, attributes, operands
  std::string algorithm;
  int64_t workspace_bytes;  // planned: the minimum over its steps
  std::vector<std::string> layers;  // all layers that use it
};

struct KernelTable {
  std::vector<KernelUse> uses;               // in the order of their first steps
  IdVector<StepId, int32_t> of_step;         // -1: not a compute step
};

// The task as the step executes it: a recomputation also reads the tensors saved by the first run.
Task task_of(const TaskGraph& graph, const Step& step);

KernelTable kernels_of(const TaskGraph& graph, const Plan& plan);

// A residency and its name: conv1_Y, and conv1_Y_at2 if the tensor returns to another address.
struct Address {
  std::string name;
  const Residency* residency;
};

class AddressTable {
 public:
  explicit AddressTable(const Plan& plan);  // without names
  AddressTable(const TaskGraph& graph, const Plan& plan, Identifiers& identifiers);
  // The address of the tensor at that step. It is unique in a plan that the checker accepted.
  const Address& at(TensorId tensor, StepId step) const;
  const IdVector<TensorId, std::vector<Address>>& all() const { return of_tensor_; }

 private:
  IdVector<TensorId, std::vector<Address>> of_tensor_;  // in order of time
};

// The names of host pool slots: host_conv1_Y, and host_conv1_Y_at2 if the tensor is also offloaded to another slot.
class HostSlotTable {
 public:
  HostSlotTable(const TaskGraph& graph, const Plan& plan, Identifiers& identifiers);
  const std::string& name(TensorId tensor, int64_t host_offset) const;
  const IdVector<TensorId, std::vector<int64_t>>& all() const { return of_tensor_; }

 private:
  IdVector<TensorId, std::vector<int64_t>> of_tensor_;  // in order of first use
  IdVector<TensorId, std::vector<std::string>> names_;
};

// The steps that evaluation runs: the forward tasks, and the copies and loads that bring their operands. The other
// steps only train.
IdVector<StepId, bool> steps_of_evaluation(const TaskGraph& graph, const Plan& plan, const AddressTable& addresses);

}  // namespace plimsoll
