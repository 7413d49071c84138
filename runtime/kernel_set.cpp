#include "runtime/kernel_set.h"

#include <algorithm>

namespace plimsoll {

int64_t KernelSet::check_workspace(const std::vector<Algorithm>& offered, std::string_view algorithm,
                                   int64_t planned_bytes) {
  for (const Algorithm& one : offered) {
    if (!algorithm.empty() && one.name != algorithm) continue;
    if (one.workspace_bytes <= planned_bytes) return one.workspace_bytes;
    throw KernelError("algorithm '" + one.name + "' needs " + std::to_string(one.workspace_bytes) +
                      " bytes of workspace on this machine when " + std::to_string(planned_bytes) +
                      " are planned");
  }
  throw KernelError("this machine has no algorithm '" + std::string(algorithm) + "'");
}

// The name of an algorithm in TF32 begins so, on every backend that has one (runtime/cuda/ops/conv.cpp, matmul.cpp).
std::vector<Algorithm> KernelSet::in_arithmetic_of(std::string_view planned, std::vector<Algorithm> offered) {
  if (planned.starts_with("tf32_"))
    std::stable_partition(offered.begin(), offered.end(), [](const Algorithm& one) { return one.tf32; });
  else
    std::erase_if(offered, [](const Algorithm& one) { return one.tf32; });
  return offered;
}

void KernelSet::count(int64_t needed_bytes, int64_t planned_bytes) {
  ++as_planned_.kernels;
  if (as_planned_.kernels > 1 && planned_bytes <= as_planned_.planned_bytes) return;
  as_planned_.planned_bytes = planned_bytes;
  as_planned_.needed_bytes = needed_bytes;
}

KernelSet::Touched KernelSet::touched(std::span<const OperandDesc> operands, int64_t workspace_bytes) {
  Touched all{.operands = {}, .workspace_bytes = workspace_bytes};
  for (const OperandDesc& operand : operands)
    all.operands.push_back(
        {operand.access, operand.access == Access::absent ? 0 : operand.tensor.bytes(), operand.tensor.type});
  return all;
}

void KernelSet::refuse(const char* layers, const KernelError& error) {
  throw KernelError(std::string(layers) + ": " + error.what() + "; compile the model on this machine");
}

}  // namespace plimsoll
