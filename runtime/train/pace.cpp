#include "runtime/train/pace.h"

#include <cstdio>
#include <string_view>

#include "runtime/machine/processors.h"
#include "runtime/train/counted.h"
#include "runtime/train/reporter.h"

namespace plimsoll::train {
namespace {

constexpr double kMuchSlower = 3;  // times the prediction
constexpr double kCause = 0.3;     // minimum share of the time for a cause
constexpr int64_t kEnough = 5;    // iterations

std::string percent(double share) {
  char text[16];
  std::snprintf(text, sizeof text, "%.0f %%", 100 * share);
  return text;
}

std::string likely_cause(const Pace& pace) {
  if (pace.threads > pace.processors)
    return "the plan is for " + counted(pace.threads, "thread") + ", and this process may use " +
           counted(pace.processors, "processor") + "; compile with --threads " + std::to_string(pace.processors);
  if (pace.fetching > kCause)
    return percent(pace.fetching) +
           " of the time is spent waiting for samples: reading and decoding --data is too slow";
  if (pace.reducing > kCause)
    return percent(pace.reducing) +
           " of the time is spent reducing gradients over the ranks: the network or the slowest rank is too slow";
  if (pace.stalled > kCause)
    return percent(pace.stalled) +
           " of the time is spent waiting for copies from and to the host pool; with --spill, the disk may be too slow";
  if (pace.queued > kCause)
    return "other processes use the processors: together, the threads of this trainer waited for a processor for " +
           percent(pace.queued) + " of the time";
  if (pace.modelled)
    return "the prediction is modelled, not measured; compile with --costs profiled for a measured one";
  return "the kernels were measured on another machine, or under other conditions; compile with --remeasure";
}

}  // namespace

std::string slower_than_predicted(const Pace& pace) {
  if (pace.predicted <= 0 || pace.seconds < kMuchSlower * pace.predicted) return "";
  char text[160];
  std::snprintf(text, sizeof text,
                "warning: an iteration takes %.4g ms, %.1f times the predicted %.4g ms. Likely cause: ",
                1e3 * pace.seconds, pace.seconds / pace.predicted, 1e3 * pace.predicted);
  return text + likely_cause(pace);
}

std::string more_threads_than_processors(int64_t threads, int processors) {
  if (threads <= processors) return "";
  return "warning: the plan is for " + counted(threads, "thread") + ", and this process may use " +
         counted(processors, "processor") + ": it will be slower than predicted; compile with --threads " +
         std::to_string(processors);
}

PaceWatch::PaceWatch(const Program& program)
    : program_(program), began_(now_seconds()), queued_before_(queued_seconds()) {}

void PaceWatch::iteration_ended(double fetch_seconds, double stall_seconds, double reduce_seconds) {
  ++iterations_;
  fetched_ += fetch_seconds;
  stalled_ += stall_seconds;
  reduced_ += reduce_seconds;
}

bool PaceWatch::looks_slow(double seconds) const {
  return iterations_ >= kEnough && program_.predicted_seconds > 0 &&
         seconds >= kMuchSlower * program_.predicted_seconds;
}

Pace PaceWatch::pace(double median_seconds) const {
  const double passed = now_seconds() - began_;
  return {.seconds = median_seconds,
          .predicted = program_.predicted_seconds,
          .threads = program_.threads,
          .processors = processors(),
          .queued = (queued_seconds() - queued_before_) / passed,
          .fetching = fetched_ / passed,
          .stalled = stalled_ / passed,
          .reducing = reduced_ / passed,
          .modelled = std::string_view(program_.predicted_by) == "modelled"};
}

}  // namespace plimsoll::train
