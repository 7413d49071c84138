#include "runtime/kernel_set.h"

#include <algorithm>

#include "runtime/precision.h"

namespace plimsoll {
namespace {

// Returns the bytes that it needs.
int64_t check_workspace(const std::vector<Algorithm>& offered, std::string_view algorithm, int64_t planned_bytes) {
  for (const Algorithm& one : offered) {
    if (!algorithm.empty() && one.name != algorithm) continue;
    if (one.workspace_bytes <= planned_bytes) return one.workspace_bytes;
    throw KernelError("algorithm '" + one.name + "' needs " + std::to_string(one.workspace_bytes) +
                      " bytes of workspace on this machine, but " + std::to_string(planned_bytes) +
                      " are planned");
  }
  throw KernelError("this machine has no algorithm '" + std::string(algorithm) + "'");
}

std::vector<Algorithm> algorithms_if_any(const KernelMaker& maker, std::span<const OperandDesc> operands) {
  try {
    return algorithms_in_any_precision(maker, operands);
  } catch (const KernelError&) {
    return {};
  }
}

// The algorithms that may replace the planned one, in the order of preference. The name of an algorithm in TF32 begins
// so, on every backend that has one (runtime/cuda/ops/conv.cpp, matmul.cpp).
std::vector<Algorithm> in_arithmetic_of(std::string_view planned, std::vector<Algorithm> offered) {
  if (planned.starts_with("tf32_"))
    std::stable_partition(offered.begin(), offered.end(), [](const Algorithm& one) { return one.tf32; });
  else
    std::erase_if(offered, [](const Algorithm& one) { return one.tf32; });
  return offered;
}

KernelSet::Touched touched(std::span<const OperandDesc> operands, int64_t workspace_bytes) {
  KernelSet::Touched all{.operands = {}, .workspace_bytes = workspace_bytes};
  for (const OperandDesc& operand : operands)
    all.operands.push_back(
        {operand.access, operand.access == Access::absent ? 0 : operand.tensor.bytes(), operand.tensor.type});
  return all;
}

}  // namespace

void KernelSet::add(size_t index, const KernelMaker& maker, std::span<const OperandDesc> operands,
                    std::string_view algorithm, int64_t workspace_bytes, const char* layers) {
  try {
    make(index, maker, operands, algorithm, workspace_bytes);
  } catch (const KernelError& error) {
    if (where_ == Where::held_to_plan) refused_.push_back({layers, error.what()});
    else if (!make_another(index, maker, operands, algorithm, workspace_bytes, layers, error.what()))
      throw KernelError(std::string(layers) + ": " + error.what());
  }
  touched_[index] = touched(operands, workspace_bytes);
  touched_[index].selection = selection_of(maker, operands);
}

void KernelSet::make(size_t index, const KernelMaker& maker, std::span<const OperandDesc> operands,
                     std::string_view algorithm, int64_t workspace_bytes) {
  kernels_[index] = make_in_any_precision(maker, operands, algorithm);
  // A library's list of algorithms may differ between machines, and an algorithm that is not listed may still be
  // buildable.
  if (const int64_t needed = kernels_[index]->workspace_found(); needed >= 0)
    count(check_workspace({{.name = std::string(algorithm), .workspace_bytes = needed}}, algorithm, workspace_bytes),
          workspace_bytes);
  else
    count(check_workspace(algorithms_in_any_precision(maker, operands), algorithm, workspace_bytes), workspace_bytes);
}

bool KernelSet::make_another(size_t index, const KernelMaker& maker, std::span<const OperandDesc> operands,
                             std::string_view planned, int64_t workspace_bytes, const char* layers, const char* why) {
  for (const Algorithm& other : in_arithmetic_of(planned, algorithms_if_any(maker, operands))) {
    if (!other.deterministic || other.name == planned || other.workspace_bytes > workspace_bytes) continue;
    try {
      make(index, maker, operands, other.name, workspace_bytes);
    } catch (const KernelError&) {
      continue;  // listed but cannot be built
    }
    replaced_.push_back({layers, std::string(planned), other.name, why});
    return true;
  }
  return false;
}

void KernelSet::count(int64_t needed_bytes, int64_t planned_bytes) {
  ++as_planned_.kernels;
  if (as_planned_.kernels > 1 && planned_bytes <= as_planned_.planned_bytes) return;
  as_planned_.planned_bytes = planned_bytes;
  as_planned_.needed_bytes = needed_bytes;
}

}  // namespace plimsoll
