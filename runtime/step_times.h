// When each step of a round ran: the data of a trainer's --trace.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace plimsoll {

// Seconds from the beginning of the round; negative: the step was skipped.
struct StepTimes {
  struct Span {
    double start = -1, end = -1;
  };
  std::vector<Span> steps = {};  // by their numbers in the plan; sized by the caller

  using Clock = std::chrono::steady_clock;
  Clock::time_point began = {};

  void begin_round() {
    for (Span& span : steps) span = {};
    began = Clock::now();
  }
  // Each stream records only its own steps, so no synchronization is needed.
  void ran(int32_t step, Clock::time_point from, Clock::time_point to) {
    const auto seconds = [&](Clock::time_point at) { return std::chrono::duration<double>(at - began).count(); };
    if (static_cast<size_t>(step) < steps.size()) steps[static_cast<size_t>(step)] = {seconds(from), seconds(to)};
  }
};

}  // namespace plimsoll
