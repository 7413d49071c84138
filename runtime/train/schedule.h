// The learning rate as a function of the iteration, so that a resumed run has the same rates.
//
//   warm-up          rate · (i + 1) / warmup                                 for i < warmup; else, with t = i - warmup:
//   constant         rate
//   step             rate · gamma ^ (t / every), whole steps                 torch's StepLR
//   cosine           least + (rate - least) · (1 + cos(π · t / T)) / 2       CosineAnnealingLR; T: after warm-up
//   linear           rate + (least - rate) · t / T                           LinearLR
//   range            least · (rate / least) ^ (i / (T - 1))                 of a range test; no warm-up
#pragma once

#include <cstdint>
#include <string>

namespace plimsoll::train {

enum class ScheduleKind { constant, step, cosine, linear, range };

struct Schedule {
  ScheduleKind kind = ScheduleKind::constant;
  double rate = 0.01;
  int64_t warmup = 0;  // iterations
  double least = 0;    // of cosine and linear: the rate at the end
  int64_t every = 0;   // of step: iterations
  double gamma = 0.1;
  int64_t iterations = 0;  // of the whole run
};

double rate_at(const Schedule& schedule, int64_t iteration);

// All that rate_at() depends on: equal texts mean equal rates.
std::string describe(const Schedule& schedule);

}  // namespace plimsoll::train
