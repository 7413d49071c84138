// When a search has to come to an end. The only place where time decides: without a limit, the same input gives the same
// plan. What nobody wants any more comes to its end, too.
#pragma once

#include <chrono>
#include <optional>
#include <stop_token>

namespace plimsoll {

class Deadline {
 public:
  using Clock = std::chrono::steady_clock;

  Deadline() = default;  // never
  // Longer than thirty years, which a clock can still count, is thirty years.
  static Deadline in(double seconds) {
    Deadline deadline;
    deadline.at_ = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(std::min(seconds, 1e9)));
    return deadline;
  }
  // What a search leaves for what has to be done behind it.
  Deadline sooner(double seconds) const {
    Deadline deadline = *this;
    if (at_) *deadline.at_ -= std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(seconds));
    return deadline;
  }
  // Or sooner, when nobody waits for what there would be.
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
