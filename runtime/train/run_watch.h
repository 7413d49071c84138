// Times of a run's iterations, and warnings about what is not as planned: the speed, the device's memory, the recording
// of rounds.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "runtime/program.h"
#include "runtime/train/durations.h"
#include "runtime/train/machine.h"
#include "runtime/train/pace.h"
#include "runtime/train/reporter.h"
#include "runtime/train/summary.h"

namespace plimsoll::train {

class RunWatch {
 public:
  // Before: the machine has not allocated its memory. `slack_bytes`: device memory that libraries may use.
  RunWatch(const Program& program, int64_t slack_bytes, Reporter& reporter);

  // Before the first iteration.
  void begin() { pace_.emplace(program_); }
  // `since_start`: iterations of this process that came before. Allocates only to warn.
  void iteration_ended(int64_t since_start, double seconds, const Machine::Totals& totals, int64_t arena_bytes);
  // After the last iteration: may warn.
  void ended(int64_t arena_bytes);
  // The closing lines on stdout.
  void print(int64_t arena_bytes) const;
  double median_seconds() const { return durations_.median(); }

 private:
  void warn_if(const std::string& warning);

  const Program& program_;
  Reporter& reporter_;
  DeviceUse device_use_;
  Durations durations_, reductions_;
  std::optional<PaceWatch> pace_;
  bool pace_is_told_ = false, not_recorded_is_told_ = false;
};

}  // namespace plimsoll::train
