#include "compiler/costs/modelled.h"

#include <algorithm>

#include "compiler/support/bytes.h"

namespace plimsoll {

double roofline_seconds(const Device& device, const Task& task, int64_t samples) {
  const double compute =
      static_cast<double>(task.flops.at(samples)) / (device.flops_per_second * device.compute_efficiency);
  const double move = static_cast<double>(task.bytes_moved(samples)) / device.memory_bytes_per_second;
  return std::max(compute, move) + device.launch_seconds;
}

namespace {

// Dense work gets a workspace: many operations per byte is what convolutions and matrix products have in common.
constexpr double kDenseFlopsPerByte = 8;

int64_t modelled_workspace(const Device& device, const Task& task, int64_t samples) {
  const double bytes = static_cast<double>(task.bytes_moved(samples));
  if (static_cast<double>(task.flops.at(samples)) < kDenseFlopsPerByte * bytes) return 0;
  return align_up(static_cast<int64_t>(bytes * device.workspace_share));
}

}  // namespace

Status ModelledCosts::prepare(const TaskGraph& graph, int64_t samples) {
  for (const Task& task : graph.tasks) {
    std::vector<AlgorithmCost>& costs = costs_[signature(task, samples)];
    if (costs.empty())
      costs.push_back({.name = "modelled",
                       .workspace_bytes = modelled_workspace(device_, task, samples),
                       .seconds = roofline_seconds(device_, task, samples)});
  }
  return {};
}

std::span<const AlgorithmCost> ModelledCosts::algorithms(const Task& task, int64_t samples) const {
  const auto found = costs_.find(signature(task, samples));
  PLIMSOLL_CHECK(found != costs_.end(), "costs were not prepared for " + task.name);
  return found->second;
}

}  // namespace plimsoll
