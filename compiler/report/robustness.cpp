#include "compiler/report/robustness.h"

#include <algorithm>
#include <array>
#include <cstdint>

#include "compiler/ir/streams.h"

namespace plimsoll {
namespace {

constexpr uint64_t kDraws = 16;

// Uniform in [0, 1), a pure function of both numbers (the finalizer of splitmix64; Steele, Lea, Flood 2014).
double drawn(uint64_t draw, uint64_t step) {
  uint64_t bits = (draw << 32 ^ step) + 0x9e3779b97f4a7c15;
  bits = (bits ^ bits >> 30) * 0xbf58476d1ce4e5b9;
  bits = (bits ^ bits >> 27) * 0x94d049bb133111eb;
  return static_cast<double>((bits ^ bits >> 31) >> 11) * 0x1p-53;
}

class Rerun {
 public:
  explicit Rerun(const Plan& plan) : plan_(plan), ends_(plan.steps.size()) {}

  // factor(id): the factor applied to the step's predicted time.
  template <class Factor>
  double iteration(Factor factor) {
    if (plan_.rounds <= 1) return round(factor, true, true);
    const double middles = static_cast<double>(plan_.rounds - 2);
    return round(factor, true, false) + (middles > 0 ? middles * round(factor, false, false) : 0) +
           round(factor, false, true);
  }

 private:
  // With several rounds: whether this round contains the step.
  bool has(const Step& step, bool first, bool last) const {
    if (plan_.rounds <= 1) return true;
    if (step.kind == StepKind::compute) return last || plan_.tasks[step.task].kind != TaskKind::update;
    if (step.kind == StepKind::reduce) return last || plan_.tensors[step.tensor].kind != TensorKind::weight_gradient;
    return has_copy(step.rounds, first, last);
  }

  double share(const Step& step, bool last) const {
    if (!last || plan_.rounds <= 1 || plan_.sub_batch == 0) return 1;
    const bool of_samples = step.kind == StepKind::compute ? plan_.tasks[step.task].kind != TaskKind::update
                            : step.kind == StepKind::reduce ? false : !plan_.tensors[step.tensor].at_home_on_host();
    return of_samples ? static_cast<double>(plan_.last_sub_batch) / static_cast<double>(plan_.sub_batch) : 1;
  }

  template <class Factor>
  double round(Factor factor, bool first, bool last) {
    std::array<Stream, 4> streams;
    double end = 0;
    for (const StepId id : ids_of(plan_.steps)) {
      const Step& step = plan_.steps[id];
      double ready = 0;
      for (const StepId wait : step.waits) ready = std::max(ready, ends_[static_cast<size_t>(wait.value)]);
      const double predicted =
          has(step, first, last) ? std::max(0.0, step.end - step.start) * share(step, last) : 0;
      const TimeSpan span = streams[static_cast<size_t>(step.stream)].issue(ready, predicted * factor(id));
      ends_[static_cast<size_t>(id.value)] = span.end;
      end = std::max(end, span.end);
    }
    return end;
  }

  const Plan& plan_;
  std::vector<double> ends_;
};

}  // namespace

Robustness robustness_of(const Plan& plan) {
  Rerun rerun(plan);
  const auto is_link = [&](StepId id) { return plan.steps[id].kind != StepKind::compute; };
  const double predicted = rerun.iteration([](StepId) { return 1.0; });
  Robustness result{.has_links = std::any_of(plan.steps.begin(), plan.steps.end(),
                                             [](const Step& step) { return step.kind != StepKind::compute; })};
  if (predicted <= 0) return result;
  const auto over = [&](auto factor) { return rerun.iteration(factor) / predicted - 1; };
  result.slower_links = over([&](StepId id) { return is_link(id) ? 1 + kSpread : 1.0; });
  result.slower_tasks = over([&](StepId id) { return is_link(id) ? 1.0 : 1 + kSpread; });
  result.by_chance = -1;
  for (uint64_t draw = 0; draw < kDraws; ++draw)
    result.by_chance = std::max(result.by_chance, over([&](StepId id) {
      return 1 - kSpread + 2 * kSpread * drawn(draw, static_cast<uint64_t>(id.value));
    }));
  return result;
}

double worst_of(const Robustness& robustness) { return std::max(robustness.slower_links, robustness.by_chance); }

}  // namespace plimsoll
