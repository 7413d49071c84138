// Costs from a device model alone: a roofline per kind of task. For planning for a device that is not at hand, without
// a runtime. Nothing is measured.
#pragma once

#include <optional>
#include <vector>

#include "compiler/costs/device.h"
#include "compiler/costs/work_map.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

// For each way to run the task, the maximum of compute and transfer time, plus a launch. Fastest first, never empty. If
// there is only one way, its name is "modelled". The ways of a LinearCrossEntropy have the names that the kernels have.
std::vector<AlgorithmCost> modelled_algorithms(const Device& device, const Task& task, int64_t samples);

// The same on tensor cores in TF32: a convolution of one group by its direct operations, or a matrix product. nullopt
// if the device has none, or the task is neither.
std::optional<AlgorithmCost> tf32_algorithm(const Device& device, const Task& task, int64_t samples);

// What an algorithm on f32 copies of narrow operands (runtime/precision.h) takes more than one that reads them: they
// are read and written as f32 once more.
double widening_seconds(const Device& device, const Task& task, int64_t samples);

LinkRates link_rates(const Device& device);

class ModelledCosts final : public Costs {
 public:
  explicit ModelledCosts(Device device, bool admits_tf32 = false)
      : device_(std::move(device)), admits_tf32_(admits_tf32) {}
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;
  LinkRates links() const override { return link_rates(device_); }
  const Device& device() const { return device_; }

 private:
  Device device_;
  bool admits_tf32_;
  WorkMap<std::vector<AlgorithmCost>> costs_;
};

}  // namespace plimsoll
