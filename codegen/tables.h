// What the generated files share: the distinct kernels, and the names of all addresses.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "codegen/identifiers.h"
#include "compiler/ir/plan.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

// Tasks that are the same work by the same algorithm share one kernel.
struct KernelUse {
  std::string name;      // "conv_forward_3": an enumerator of the generated KernelIndex
  Task task;             // the first that uses it, as it is run: kernel, attributes, operands
  std::string algorithm;
  int64_t workspace_bytes;  // planned: the least that any of its steps has
  std::vector<std::string> layers;  // all that use it
};

struct KernelTable {
  std::vector<KernelUse> uses;               // by first step
  IdVector<StepId, int32_t> of_step;         // -1: not a compute step
};

// The task as the step runs it: again, it reads what it remembers.
Task task_of(const TaskGraph& graph, const Step& step);

KernelTable kernels_of(const TaskGraph& graph, const Plan& plan);

// A residency under its name: conv1_Y, and conv1_Y_at2 where the tensor comes back to another place.
struct Address {
  std::string name;
  const Residency* residency;
};

class AddressTable {
 public:
  explicit AddressTable(const Plan& plan);  // without names
  AddressTable(const TaskGraph& graph, const Plan& plan, Identifiers& identifiers);
  // Where the tensor lies at that step; a plan that the checker accepted has exactly one answer.
  const Address& at(TensorId tensor, StepId step) const;
  const IdVector<TensorId, std::vector<Address>>& all() const { return of_tensor_; }

 private:
  IdVector<TensorId, std::vector<Address>> of_tensor_;  // each in order of time
};

// A tensor's place in the host pool under its name: host_conv1_Y, and host_conv1_Y_at2 where it is offloaded to another
// place too.
class HostSlotTable {
 public:
  HostSlotTable(const TaskGraph& graph, const Plan& plan, Identifiers& identifiers);
  const std::string& name(TensorId tensor, int64_t host_offset) const;
  const IdVector<TensorId, std::vector<int64_t>>& all() const { return of_tensor_; }

 private:
  IdVector<TensorId, std::vector<int64_t>> of_tensor_;  // in order of first use
  IdVector<TensorId, std::vector<std::string>> names_;
};

// Which steps evaluation takes: the forward tasks' and whatever brings them what they read. The rest trains.
IdVector<StepId, bool> steps_of_evaluation(const TaskGraph& graph, const Plan& plan, const AddressTable& addresses);

}  // namespace plimsoll
