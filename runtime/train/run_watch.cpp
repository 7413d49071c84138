#include "runtime/train/run_watch.h"

#include <utility>

namespace plimsoll::train {

RunWatch::RunWatch(const Program& program, int64_t slack_bytes, Reporter& reporter)
    : program_(program), reporter_(reporter), device_use_(slack_bytes) {}

void RunWatch::warn_if(const std::string& warning) {
  if (!warning.empty()) reporter_.warn(warning);
}

void RunWatch::iteration_ended(int64_t since_start, double seconds, const Machine::Totals& totals,
                               int64_t arena_bytes) {
  durations_.add(seconds);
  reductions_.add(totals.reduce_seconds);
  pace_->iteration_ended(totals.fetch_seconds, totals.stall_seconds, totals.reduce_seconds);
  if (!pace_is_told_ && pace_->looks_slow(seconds)) {
    const std::string warning = slower_than_predicted(pace_->pace(durations_.median()));
    pace_is_told_ = !warning.empty();
    warn_if(warning);
  }
  warn_if(device_use_.iteration_ended(since_start, arena_bytes));
  if (!totals.not_recorded.empty() && !std::exchange(not_recorded_is_told_, true))
    reporter_.warn("warning: CUDA graph capture failed (" + std::string(totals.not_recorded) +
                   "); launching kernels one by one: same results, slower");
}

void RunWatch::ended(int64_t arena_bytes) { warn_if(device_use_.ended(arena_bytes)); }

void RunWatch::print(int64_t arena_bytes) const {
  print_end(program_, arena_bytes, durations_.median(), reductions_.median());
  device_use_.print(arena_bytes);
}

}  // namespace plimsoll::train
