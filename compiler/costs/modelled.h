// Costs from a device's figures alone: a roofline. For planning for a device that is elsewhere, with no runtime at hand.
#pragma once

#include <map>
#include <vector>

#include "compiler/costs/device.h"
#include "compiler/ir/profile.h"

namespace plimsoll {

// The longer of computing and moving, and a launch. In seconds.
double roofline_seconds(const Device& device, const Task& task, int64_t samples);

class ModelledCosts final : public Costs {
 public:
  explicit ModelledCosts(Device device) : device_(std::move(device)) {}
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  // One algorithm per task, "modelled".
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;
  const Device& device() const { return device_; }

 private:
  Device device_;
  std::map<std::string, std::vector<AlgorithmCost>> costs_;
};

}  // namespace plimsoll
