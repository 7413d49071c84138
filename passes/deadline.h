// When a search must stop. This is the only place where time affects a plan: without a time limit, the same input gives
// the same plan. A deadline also passes when its result is no longer wanted.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

namespace plimsoll {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;  // never passes
  // `seconds` from now. Capped at 1e9 seconds (about thirty years), which the clock can represent.
  static Deadline in(double seconds) {
    Deadline deadline;
    deadline.at_ = Clock::now() +
                   std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
    return deadline;
  }
  // An earlier deadline, which reserves `seconds` for the work after the search.
  Deadline sooner(double seconds) const {
    Deadline deadline = *this;
    if (at_) *deadline.at_ -= std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return deadline;
  }
  // Also passes when a stop is requested, because the result is no longer wanted.
  Deadline unless(std::stop_token unwanted) const {
    Deadline deadline = *this;
    deadline.unwanted_ = std::move(unwanted);
    return deadline;
  }
  bool passed() const { return unwanted_.stop_requested() || (at_ && Clock::now() >= *at_); }

 private:
  std::stop_token unwanted_;
  std::optional<Clock::time_point> at_;
};

}  // namespace plimsoll
