#include "codegen/tables.h"

#include <fmt/format.h>

#include <algorithm>

#include "codegen/text.h"
#include "compiler/support/status.h"

namespace plimsoll {
namespace {

// Attributes and operands with the batch as a variable. Kernels with the same key are the same for every number of
// samples.
std::string key_of(const Task& task, const std::string& algorithm) {
  std::string key = fmt::format("{}{{{}}}{}", task.kernel, to_string(task.attributes), algorithm);
  for (const Operand& operand : task.operands)
    key += fmt::format(" {}{}", static_cast<int>(operand.access),
                       operand.access == Access::absent ? "" : to_string(operand.type));
  return key;
}

}  // namespace

Task task_of(const TaskGraph& graph, const Step& step) {
  return step.recompute ? as_run_again(graph.tasks[step.task]) : graph.tasks[step.task];
}

KernelTable kernels_of(const TaskGraph& graph, const Plan& plan) {
  KernelTable table{.uses = {}, .of_step = IdVector<StepId, int32_t>(plan.steps.size(), -1)};
  std::map<std::string, int32_t> known;
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::compute) continue;
    const Task task = task_of(graph, step);
    const auto [found, is_new] =
        known.try_emplace(key_of(task, step.algorithm), static_cast<int32_t>(table.uses.size()));
    if (is_new)
      table.uses.push_back({fmt::format("{}_{}", snake_case(task.kernel), found->second), task, step.algorithm,
                            step.workspace.bytes, {}});
    KernelUse& use = table.uses[static_cast<size_t>(found->second)];
    use.workspace_bytes = std::min(use.workspace_bytes, step.workspace.bytes);
    const bool known_layer = std::find(use.layers.begin(), use.layers.end(), task.layer) != use.layers.end();
    if (!step.recompute || !known_layer) use.layers.push_back(task.layer);
    table.of_step[id] = found->second;
  }
  return table;
}

AddressTable::AddressTable(const Plan& plan) : of_tensor_(plan.tensors.size()) {
  for (const Residency& residency : plan.residencies) of_tensor_[residency.tensor].push_back({"", &residency});
  for (std::vector<Address>& addresses : of_tensor_)
    std::stable_sort(addresses.begin(), addresses.end(), [](const Address& a, const Address& b) {
      return a.residency->first_step < b.residency->first_step;
    });
}

AddressTable::AddressTable(const TaskGraph& graph, const Plan& plan, Identifiers& identifiers) : AddressTable(plan) {
  for (const TensorId tensor : ids_of(plan.tensors)) {
    const std::string wanted = identifier_of(graph.tensors[tensor].name);
    std::vector<Address>& addresses = of_tensor_[tensor];
    for (size_t i = 0; i < addresses.size(); ++i)
      addresses[i].name = i ? identifiers.claim(fmt::format("{}_at{}", addresses[0].name, i + 1), tensor.value)
                            : identifiers.claim(wanted, tensor.value);
  }
}

const Address& AddressTable::at(TensorId tensor, StepId step) const {
  PLIMSOLL_CHECK(of_tensor_.contains(tensor), "a step touches a tensor that the plan does not have");
  const std::vector<Address>& addresses = of_tensor_[tensor];
  const auto after = std::upper_bound(addresses.begin(), addresses.end(), step.value,
                                      [](int32_t at, const Address& a) { return at < a.residency->first_step; });
  PLIMSOLL_CHECK(after != addresses.begin(), fmt::format("tensor {} is nowhere at step {}", tensor.value, step.value));
  const Address& address = *(after - 1);
  PLIMSOLL_CHECK(step.value <= address.residency->last_step,
                 fmt::format("tensor {} is nowhere at step {}", tensor.value, step.value));
  return address;
}

HostSlotTable::HostSlotTable(const TaskGraph& graph, const Plan& plan, Identifiers& identifiers)
    : of_tensor_(plan.tensors.size()), names_(plan.tensors.size()) {
  // No step copies the whole of a state that is updated in slices.
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.slice_of.valid()) of_tensor_[tensor.slice_of] = {plan.tensors[tensor.slice_of].home_offset};
  for (const Step& step : plan.steps) {
    if (step.host_offset < 0) continue;
    std::vector<int64_t>& slots = of_tensor_[step.tensor];
    if (std::find(slots.begin(), slots.end(), step.host_offset) == slots.end()) slots.push_back(step.host_offset);
  }
  for (const TensorId tensor : ids_of(plan.tensors))
    for (size_t i = 0; i < of_tensor_[tensor].size(); ++i)
      names_[tensor].push_back(identifiers.claim(
          i ? fmt::format("{}_at{}", names_[tensor][0], i + 1) : "host_" + identifier_of(graph.tensors[tensor].name),
          tensor.value));
}

const std::string& HostSlotTable::name(TensorId tensor, int64_t host_offset) const {
  const std::vector<int64_t>& slots = of_tensor_[tensor];
  const auto at = std::find(slots.begin(), slots.end(), host_offset) - slots.begin();
  PLIMSOLL_CHECK(static_cast<size_t>(at) < slots.size(),
                 fmt::format("tensor {} is not in the host pool there", tensor.value));
  return names_[tensor][static_cast<size_t>(at)];
}

// Visits steps from last to first, because a reader comes after the step that makes its operand resident. A prefetch
// depends on the last offload to its slot.
IdVector<StepId, bool> steps_of_evaluation(const TaskGraph& graph, const Plan& plan, const AddressTable& addresses) {
  IdVector<StepId, bool> taken(plan.steps.size(), false);
  const auto take_maker = [&](TensorId tensor, StepId reader) {
    const int32_t first = addresses.at(tensor, reader).residency->first_step;
    if (first >= 0) taken[StepId(first)] = true;
  };
  for (int32_t i = static_cast<int32_t>(plan.steps.size()) - 1; i >= 0; --i) {
    const StepId id(i);
    const Step& step = plan.steps[id];
    if (step.kind == StepKind::reduce) {
      taken[id] = graph.tensors[step.tensor].kind != TensorKind::weight_gradient;  // results of the loss task
    } else if (step.kind == StepKind::compute) {
      const Task& task = graph.tasks[step.task];
      if (is_forward(task.kind) && !step.recompute) taken[id] = true;
      if (!taken[id]) continue;
      for (const TensorId tensor : task_of(graph, step).reads()) take_maker(tensor, id);
    } else if (step.kind == StepKind::offload && taken[id]) {
      take_maker(step.tensor, id);
    } else if (step.kind == StepKind::prefetch && taken[id]) {
      for (int32_t j = i - 1; j >= 0; --j) {
        const Step& other = plan.steps[StepId(j)];
        if (other.kind != StepKind::offload || other.tensor != step.tensor || other.host_offset != step.host_offset)
          continue;
        taken[StepId(j)] = true;
        break;
      }
    }
  }
  return taken;
}

}  // namespace plimsoll
