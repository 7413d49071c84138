// Explains why iterations take much longer than predicted.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/program.h"

namespace plimsoll::train {

// Measurements over some iterations. The last five numbers are shares of their time.
struct Pace {
  double seconds = 0;    // of an iteration, the median
  double predicted = 0;  // likewise; 0: unknown
  int64_t threads = 0;   // 0: the plan is for a device
  int processors = 0;    // that this process may use
  double queued = 0;     // threads ready to run but not scheduled; above 1 if several waited at once
  double fetching = 0;   // waiting for samples
  double stalled = 0;    // waiting for copies between arena and host pool
  double reducing = 0;   // reductions over ranks, including waiting for the slowest rank
  bool modelled = false; // the prediction is modelled, not profiled
};

// A warning with the likely cause if iterations take at least three times the predicted time; otherwise "".
std::string slower_than_predicted(const Pace& pace);

// A warning if the plan is for more threads than this process has processors; otherwise "".
std::string more_threads_than_processors(int64_t threads, int processors);

// Watches a run from the start of its iterations.
class PaceWatch {
 public:
  explicit PaceWatch(const Program& program);
  void iteration_ended(double fetch_seconds, double stall_seconds, double reduce_seconds);
  // True if this iteration was slow. The first iterations are always slower and do not count.
  bool looks_slow(double seconds) const;
  Pace pace(double median_seconds) const;

 private:
  const Program& program_;
  int64_t iterations_ = 0;
  double began_, queued_before_;
  double fetched_ = 0, stalled_ = 0, reduced_ = 0;
};

}  // namespace plimsoll::train
