// From a network of the zoo to a plan under the rules of SuperNeurons, and comparison of a published figure with ours.
#pragma once

#include "compiler/papers/superneurons.h"
#include "tests/papers/planned.h"

namespace plimsoll::superneurons {

using papers::import_zoo;

inline TaskGraph graph_of(const std::string& spec, int64_t batch) {
  Result<TaskGraph> graph = superneurons_graph(import_zoo(spec, batch).network, batch);
  REQUIRE(graph.ok());
  return std::move(*graph);
}

// The plan is checked, and counted as in the paper. Unlimited: the policy's full method.
inline Plan plan_of(const TaskGraph& graph, const std::string& policy, int64_t budget = 0) {
  SuperNeuronsCosts costs;
  Result<Plan> plan = make_plan(graph, costs, {.policy = policy, .batch = graph.batch, .sub_batch = graph.batch,
                                               .budget_bytes = budget, .keep_order = true});
  INFO((plan.ok() ? policy : plan.error().message));
  REQUIRE(plan.ok());
  count_as_superneurons(*plan);
  CHECK(to_string(check_plan(*plan)) == "");
  CHECK(to_string(check_against_graph(*plan, graph)) == "");
  return std::move(*plan);
}

inline double mib(int64_t bytes) { return static_cast<double>(bytes) / (1 << 20); }

// Prints the residual, and requires it to be within the source's truncation, rounding and known errors, and our figure
// to be the one in figures.txt.
inline void hold(const std::string& claim, double published, double ours, double most) {
  WARN(fmt::format("{}: published {:.3f}, ours {:.4f}, residual {:+.4f} %", claim, published, ours,
                   100 * (ours - published) / published));
  CHECK(std::abs(ours - published) <= most);
  papers::expect_figure(claim, ours);
}

// MiB and tensors during the first run of a task, at a step of the paper, counted from 1.
struct Moment {
  double mib = 0;
  int64_t tensors = 0;
};
inline Moment moment_of(const Plan& plan, int64_t paper_step) {
  Moment moment;
  for (const StepId id : ids_of(plan.steps)) {
    const Step& step = plan.steps[id];
    if (step.kind != StepKind::compute || step.recompute || step.task.value + 1 != paper_step) continue;
    int64_t bytes = 0;
    for (const Residency& residency : plan.residencies) {
      if (residency.first_step > id.value || id.value > residency.last_step) continue;
      bytes += residency.bytes;
      ++moment.tensors;
    }
    moment.mib = mib(bytes);
  }
  return moment;
}

}  // namespace plimsoll::superneurons
