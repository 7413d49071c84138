// What a trainer says before its first iteration and after its last.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/backend.h"
#include "runtime/program.h"
#include "runtime/train/checkpoint.h"
#include "runtime/train/dataset.h"
#include "runtime/train/options.h"

namespace plimsoll::train {

void print_start(const Program& program, const Dataset& data, int64_t iterations_per_epoch, const std::string& spill);
// A warning where kernels are not those that were planned: "" where all are.
std::string replaced_kernels(const std::vector<KernelSet::Replaced>& replaced);
// That all kernels are as planned, on which libraries; for --revalidate.
std::string revalidated(const Program& program, const KernelSet::AsPlanned& as_planned);
// Medians of an iteration: all of it, and its reductions over ranks; 0: none was played, or nobody knows.
void print_end(const Program& program, int64_t allocated_bytes, double median_seconds, double reduce_seconds);

// What the driver and the libraries take of a device beside the arena: no plan knows it, so it is measured. The first
// iterations are their warm-up; whoever takes more later takes it behind our back. Nothing where the arena is the host's.
class DeviceUse {
 public:
  explicit DeviceUse(int64_t slack_bytes) : slack_(slack_bytes), start_(backend::device_memory()) {}
  // Each a warning where more was taken than the slack, at the end of the warm-up or, at the end of the run, since then; "" where not.
  std::string iteration_ended(int64_t iteration, int64_t arena_bytes) {
    return iteration == kWarm && start_ ? warmed_up(arena_bytes) : "";
  }
  std::string ended(int64_t arena_bytes);
  void print(int64_t arena_bytes) const;

 private:
  static constexpr int64_t kWarm = 2;  // every kind of round was issued and recorded
  std::string warmed_up(int64_t arena_bytes);

  int64_t slack_;
  std::optional<backend::DeviceMemory> start_, warm_;
};

// "best evaluation after 500 iterations, accuracy 91.20 %"
std::string best_in_words(const Best& best, Metric metric);

}  // namespace plimsoll::train
