// What a trainer says before its first iteration and after its last.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/program.h"
#include "runtime/train/dataset.h"

namespace plimsoll::train {

void print_start(const Program& program, const Dataset& data, int64_t iterations_per_epoch, const std::string& spill);
// A warning where kernels are not those that were planned: "" where all are.
std::string replaced_kernels(const std::vector<KernelSet::Replaced>& replaced);
// Medians of an iteration: all of it, and its reductions over ranks; 0: none was played, or nobody knows.
void print_end(const Program& program, int64_t allocated_bytes, double median_seconds, double reduce_seconds);

// What the driver and the libraries take of a device beside the arena: no plan knows it, so it is measured. The first
// iterations are their warm-up; whoever takes more later takes it behind our back. Nothing where the arena is the host's.
class DeviceUse {
 public:
  DeviceUse() : start_(backend::device_memory()) {}
  void iteration_ended(int64_t iteration) {
    if (iteration == kWarm) warm_ = backend::device_memory();
  }
  void print(int64_t arena_bytes) const;

 private:
  static constexpr int64_t kWarm = 2;  // every kind of round was issued and recorded
  std::optional<backend::DeviceMemory> start_, warm_;
};

}  // namespace plimsoll::train
