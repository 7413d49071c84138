// Says why iterations take much longer than the plan predicts.
#pragma once

#include <cstdint>
#include <string>

#include "runtime/program.h"

namespace plimsoll::train {

// How fast a run is, over some of its iterations. Shares are of their time.
struct Pace {
  double seconds = 0;    // of an iteration, the median
  double predicted = 0;  // likewise; 0: unknown
  int64_t threads = 0;   // 0: the plan is for a device, and threads do not matter
  int processors = 0;    // that this process may use
  double queued = 0;     // its threads were ready to run, and something else ran: above 1 where several waited at once
  double fetching = 0;   // waiting for samples
  double stalled = 0;    // waiting for copies between arena and host pool
  double reducing = 0;   // adding up over ranks, with waiting for the slowest of them
  bool modelled = false; // the prediction is
};

// A warning with the likely cause, where iterations take at least three times as long as predicted; otherwise "".
std::string slower_than_predicted(const Pace& pace);

// A warning, where the plan is for more threads than there are processors for them; otherwise "".
std::string more_threads_than_processors(int64_t threads, int processors);

// Watches a run from the start of its iterations.
class PaceWatch {
 public:
  explicit PaceWatch(const Program& program);
  void iteration_ended(double fetch_seconds, double stall_seconds, double reduce_seconds);
  // Whether this iteration was slow, and was not among the first, which are slower than the others.
  bool looks_slow(double seconds) const;
  Pace pace(double median_seconds) const;

 private:
  const Program& program_;
  int64_t iterations_ = 0;
  double began_, queued_before_;
  double fetched_ = 0, stalled_ = 0, reduced_ = 0;
};

}  // namespace plimsoll::train
