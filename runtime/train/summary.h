// Output before the first iteration and after the last.
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
// A warning if kernels are not as planned; "" if all are.
std::string replaced_kernels(const std::vector<KernelSet::Replaced>& replaced);
// For --revalidate: states that all kernels are as planned, and the libraries' versions.
std::string revalidated(const Program& program, const KernelSet::AsPlanned& as_planned);
// `median_seconds`: of an iteration; `reduce_seconds`: of its reductions over ranks. 0: unknown.
void print_end(const Program& program, int64_t allocated_bytes, double median_seconds, double reduce_seconds);

// Device memory that the driver and libraries use in addition to the arena. It is not part of the plan, so it is
// measured. The first iterations are a warm-up; later growth is unexpected. Does nothing if the arena is in host
// memory.
class DeviceUse {
 public:
  explicit DeviceUse(int64_t slack_bytes) : slack_(slack_bytes), start_(backend::device_memory()) {}
  // A warning if more than the slack was used: by the end of the warm-up, or between it and the end of the run. Else
  // "".
  std::string iteration_ended(int64_t iteration, int64_t arena_bytes) {
    return iteration == kWarm && start_ ? warmed_up(arena_bytes) : "";
  }
  std::string ended(int64_t arena_bytes);
  void print(int64_t arena_bytes) const;

 private:
  static constexpr int64_t kWarm = 2;  // all kinds of rounds have been issued and recorded
  std::string warmed_up(int64_t arena_bytes);

  int64_t slack_;
  std::optional<backend::DeviceMemory> start_, warm_;
};

// "best evaluation after 500 iterations, accuracy 91.20 %"
std::string best_in_words(const Best& best, Metric metric);

}  // namespace plimsoll::train
