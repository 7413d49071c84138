#include "runtime/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace plimsoll::train {

double rate_at(const Schedule& schedule, int64_t iteration) {
  const double rate = schedule.rate;
  if (iteration < schedule.warmup)
    return rate * static_cast<double>(iteration + 1) / static_cast<double>(schedule.warmup);
  const int64_t t = iteration - schedule.warmup;
  const double gone =
      static_cast<double>(t) / static_cast<double>(std::max<int64_t>(1, schedule.iterations - schedule.warmup));
  switch (schedule.kind) {
    case ScheduleKind::constant: return rate;
    case ScheduleKind::step: return rate * std::pow(schedule.gamma, static_cast<double>(t / schedule.every));
    case ScheduleKind::cosine:
      return schedule.least + (rate - schedule.least) * (1 + std::cos(3.141592653589793 * gone)) / 2;
    case ScheduleKind::range:
      return schedule.least *
             std::pow(rate / schedule.least,
                      static_cast<double>(t) / static_cast<double>(std::max<int64_t>(1, schedule.iterations - 1)));
    case ScheduleKind::linear: return rate + (schedule.least - rate) * gone;
  }
  return rate;
}

std::string describe(const Schedule& schedule) {
  char text[160];
  int length = std::snprintf(text, sizeof text, "%.17g", schedule.rate);
  const auto add = [&](const char* format, auto... values) {
    length += std::snprintf(text + length, sizeof text - static_cast<size_t>(length), format, values...);
  };
  switch (schedule.kind) {
    case ScheduleKind::constant: break;
    case ScheduleKind::range: add(" from %.17g", schedule.least); break;
    case ScheduleKind::step:
      add(" times %g every %lld iterations", schedule.gamma, static_cast<long long>(schedule.every));
      break;
    case ScheduleKind::cosine:
    case ScheduleKind::linear:
      add(" to %.17g over %lld iterations, %s", schedule.least, static_cast<long long>(schedule.iterations),
          schedule.kind == ScheduleKind::cosine ? "cosine" : "linear");
      break;
  }
  if (schedule.warmup > 0) add(", warm-up of %lld", static_cast<long long>(schedule.warmup));
  return text;
}

}  // namespace plimsoll::train
