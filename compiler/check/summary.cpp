// Recomputes the figures of the summary from steps and residencies.
#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>

#include "compiler/check/rounds.h"
#include "compiler/check/verdict.h"
#include "compiler/support/bytes.h"

namespace plimsoll {
namespace {

// The figures of a damaged plan are arbitrary, so sums saturate at the largest number.
int64_t plus(int64_t a, int64_t b) {
  int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<int64_t>::max() : sum;
}

int64_t times(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

int64_t aligned(int64_t bytes) {
  return bytes > std::numeric_limits<int64_t>::max() - kAlignment ? bytes : align_up(bytes);
}

// The bytes of tensors and workspaces that are live at a step, and the number of tensors.
struct Live {
  int64_t bytes = 0;
  int64_t tensors = 0;
};

std::vector<Live> live_at_steps(const Plan& plan) {
  const int64_t count = static_cast<int64_t>(plan.steps.size());
  std::vector<Live> live(static_cast<size_t>(count));
  std::vector<std::vector<size_t>> beginning(live.size()), ending(live.size());
  // May wrap if a damaged plan has more than 63 bits of live bytes; such a plan is rejected for its overlaps.
  uint64_t bytes = 0;
  int64_t tensors = 0;
  for (size_t i = 0; i < plan.residencies.size(); ++i) {
    const Residency& residency = plan.residencies[i];
    const int64_t first = std::max<int64_t>(residency.first_step, 0),
                  last = std::min<int64_t>(residency.last_step, count - 1);
    if (first > last) continue;
    beginning[static_cast<size_t>(first)].push_back(i);
    ending[static_cast<size_t>(last)].push_back(i);
  }
  for (int64_t step = 0; step < count; ++step) {
    const size_t at = static_cast<size_t>(step);
    for (size_t i : beginning[at]) {
      bytes += static_cast<uint64_t>(plan.residencies[i].bytes);
      ++tensors;
    }
    uint64_t here = bytes + static_cast<uint64_t>(plan.steps[StepId(step)].workspace.bytes);
    // A tensor written in place reuses bytes that are counted already.
    std::map<int64_t, int64_t> left;  // bytes by offset
    for (size_t j : ending[at])
      if (plan.residencies[j].first_step < step) left[plan.residencies[j].offset] = plan.residencies[j].bytes;
    for (size_t i : beginning[at]) {
      const auto found = left.find(plan.residencies[i].offset);
      if (found != left.end()) here -= static_cast<uint64_t>(std::min(plan.residencies[i].bytes, found->second));
    }
    live[at] = {static_cast<int64_t>(here), tensors};
    for (size_t i : ending[at]) {
      bytes -= static_cast<uint64_t>(plan.residencies[i].bytes);
      --tensors;
    }
  }
  return live;
}

class Summary {
 public:
  Summary(const Plan& plan, Verdict& verdict) : plan_(plan), verdict_(verdict) {}

  void run() {
    int64_t arena = 0, persistent = 0, persistent_rounded = 0;
    for (const Residency& residency : plan_.residencies) {
      arena = std::max(arena, residency.block().end());
      if (!plan_.tensors[residency.tensor].persistent) continue;
      persistent = plus(persistent, residency.bytes);
      persistent_rounded = plus(persistent_rounded, aligned(residency.bytes));
    }
    int64_t host = 0, offloaded = 0, prefetched = 0, recomputed = 0, reduced = 0;
    int64_t written_back = 0, fetched_from_host = 0;  // over all rounds, of whole tensors
    for (const PlanTensor& tensor : plan_.tensors)
      if (tensor.at_home_on_host()) host = std::max(host, plus(tensor.home_offset, tensor.bytes));
    for (const Step& step : plan_.steps) {
      if (step.workspace.bytes > 0) arena = std::max(arena, step.workspace.end());
      recomputed += step.recompute;
      for (TensorId tensor : step.bucket)
        reduced = plus(reduced, times(plan_.tensors[tensor].bytes,
                                      plan_.tensors[tensor].kind == TensorKind::weight_gradient ? 1 : plan_.rounds));
      if (step.kind == StepKind::compute || step.kind == StepKind::reduce) continue;
      if (step.kind == StepKind::load) continue;
      const int64_t bytes = plan_.tensors[step.tensor].bytes;
      host = std::max(host, plus(step.host_offset, bytes));
      const bool host_resident = plan_.tensors[step.tensor].at_home_on_host();
      int64_t& moved = step.kind == StepKind::offload ? host_resident ? written_back : offloaded
                       : host_resident                ? fetched_from_host
                                                      : prefetched;
      moved = plus(moved, host_resident ? times(bytes, rounds_with(step.rounds, plan_.rounds)) : bytes);
    }
    if (plan_.inputs_ahead.bytes > 0) arena = std::max(arena, plan_.inputs_ahead.end());
    const PlanSummary& said = plan_.summary;
    expect("arena_bytes", said.arena_bytes, arena, aligned(arena));
    expect("persistent_bytes", said.persistent_bytes, persistent, persistent_rounded);
    expect("host_pool_bytes", said.host_pool_bytes, host, aligned(host));
    // The last round may be smaller, and the plan does not state the size of a tensor in it.
    const int64_t full = plan_.last_sub_batch == plan_.sub_batch ? plan_.rounds : plan_.rounds - 1;
    expect("offloaded_bytes", said.offloaded_bytes, plus(written_back, times(offloaded, full)),
           plus(written_back, times(offloaded, plan_.rounds)));
    expect("prefetched_bytes", said.prefetched_bytes, plus(fetched_from_host, times(prefetched, full)),
           plus(fetched_from_host, times(prefetched, plan_.rounds)));
    expect("reduced_bytes", said.reduced_bytes, reduced, reduced);
    expect("recomputed_tasks", said.recomputed_tasks, recomputed, recomputed);
    if (plan_.rules == "true") check_live();
  }

 private:
  void expect(const char* field, int64_t said, int64_t least, int64_t most) {
    if (said >= least && said <= most) return;
    verdict_.refuse(Rule::summary, least == most ? fmt::format("{} is {}; expected {}", field, said, least)
                                                 : fmt::format("{} is {}; expected {} to {}", field, said,
                                                               least, most));
  }

  void check_live() {
    const std::vector<Live> live = live_at_steps(plan_);
    const PlanSummary& said = plan_.summary;
    if (live.empty()) return;
    int64_t most = 0;
    for (const Live& here : live) most = std::max(most, here.bytes);
    expect("live_bytes", said.live_bytes, most, most);
    expect("peak_step", said.peak_step, 0, static_cast<int64_t>(live.size()) - 1);
    if (said.peak_step < 0 || said.peak_step >= static_cast<int64_t>(live.size())) return;
    const Live& peak = live[static_cast<size_t>(said.peak_step)];
    if (peak.bytes != most)
      verdict_.refuse(Rule::summary, StepId(said.peak_step), {},
                      fmt::format("peak_step is {}, where {} bytes are live, but {} are live elsewhere", said.peak_step,
                                  peak.bytes, most));
    expect("peak_live_tensors", said.peak_live_tensors, peak.tensors, peak.tensors);
  }

  const Plan& plan_;
  Verdict& verdict_;
};

}  // namespace

void check_summary(const Plan& plan, Verdict& verdict) { Summary(plan, verdict).run(); }

}  // namespace plimsoll
