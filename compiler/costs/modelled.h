// Costs from a device's figures alone: a roofline per kind of task. For planning for a device that is elsewhere, with no
// runtime at hand. Nothing of it is measured, and nothing here says so.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "compiler/costs/device.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

// The longer of computing and moving, and a launch, of each way to run the task. Fastest first, never empty.
// "modelled" is the name where there is one way only.
std::vector<AlgorithmCost> modelled_algorithms(const Device& device, const Task& task, int64_t samples);

// The same on tensor cores, in TF32: a convolution of one group by its direct operations, or a matrix product. Nothing where
// the device has none, or the task is neither.
std::optional<AlgorithmCost> tf32_algorithm(const Device& device, const Task& task, int64_t samples);

LinkRates link_rates(const Device& device);

class ModelledCosts final : public Costs {
 public:
  explicit ModelledCosts(Device device, bool admits_tf32 = false) : device_(std::move(device)), admits_tf32_(admits_tf32) {}
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;
  LinkRates links() const override { return link_rates(device_); }
  const Device& device() const { return device_; }

 private:
  Device device_;
  bool admits_tf32_;
  std::map<std::string, std::vector<AlgorithmCost>> costs_;
};

}  // namespace plimsoll
