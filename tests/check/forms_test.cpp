// A planner of two forms of a graph takes, within every budget, the form that is faster there.
#include <catch2/catch.hpp>

#include <algorithm>

#include "compiler/check/check.h"
#include "passes/planner.h"
#include "tests/random_graph.h"

namespace plimsoll {
namespace {

constexpr int64_t kFormBatch = 4;

std::vector<TaskGraph> two_forms(uint64_t seed) {
  std::vector<TaskGraph> forms = {random_graph(seed, {.layers = 7, .batch = kFormBatch}),
                                  random_graph(seed + 1000, {.layers = 7, .batch = kFormBatch})};
  forms[0].forms["attention"] = "spelled";
  forms[1].forms["attention"] = "fused";
  return forms;
}

PlanRequest form_request(int64_t bytes) {
  return {.policy = "auto", .batch = kFormBatch, .budget_bytes = bytes, .may_split_statistics = true, .effort = 0};
}

// Seconds of an iteration; none if nothing fits.
std::optional<double> form_seconds(Planner& planner, int64_t bytes) {
  const Result<Plan> plan = planner.plan(form_request(bytes));
  if (!plan.ok()) {
    REQUIRE(plan.error().code == ExitCode::budget_infeasible);
    return {};
  }
  return plan->summary.iteration_seconds;
}

}  // namespace

TEST_CASE("the better of two forms is taken: never slower than either, and none where either has a plan") {
  size_t spelled = 0, fused = 0, only_one = 0;
  for (const uint64_t seed : seeds(6)) {
    const std::vector<TaskGraph> forms = two_forms(seed);
    RandomCosts costs(seed);
    Planner first(forms[0], costs, kFormBatch), second(forms[1], costs, kFormBatch), both(forms, costs, kFormBatch);
    const Plan free = both.plan(form_request(0)).value();
    int64_t least = free.summary.minimum_bytes;
    double before = 1e9;
    for (const int64_t percent : {0, 15, 30, 60, 100, 150}) {
      const int64_t bytes = least + (free.summary.unconstrained_bytes - least) * percent / 100;
      CAPTURE(seed, percent, bytes);
      const std::optional<double> one = form_seconds(first, bytes), other = form_seconds(second, bytes);
      const Result<Plan> plan = both.plan(form_request(bytes));
      REQUIRE(plan.ok());  // `least` is the minimum of the form that needs less
      CHECK(plan->summary.iteration_seconds <= std::min(one.value_or(1e9), other.value_or(1e9)));
      CHECK(plan->summary.iteration_seconds <= before);
      before = plan->summary.iteration_seconds;
      CHECK(plan->summary.minimum_bytes == least);
      CHECK(plan->summary.unconstrained_bytes == free.summary.unconstrained_bytes);
      CHECK(plan->summary.bound_seconds <= plan->summary.iteration_seconds);
      const std::string& taken = plan->forms.at("attention");
      const bool is_first = taken.starts_with("spelled");
      CHECK(check_against_graph(*plan, forms[is_first ? 0 : 1]).empty());
      CHECK_FALSE(check_against_graph(*plan, forms[is_first ? 1 : 0]).empty());
      ++(is_first ? spelled : fused);
      if (one.has_value() == other.has_value()) continue;
      ++only_one;
      CHECK(is_first == one.has_value());
      CHECK(taken.find(is_first ? "spelled: fused needs at least " : "fused: spelled needs at least ") == 0);
    }
    const Result<Plan> none = both.plan(form_request(least - 256));
    REQUIRE_FALSE(none.ok());
    CHECK(none.error().code == ExitCode::budget_infeasible);
  }
  CHECK((spelled > 0 && fused > 0 && only_one > 0));
}

TEST_CASE("a percentage is of the unlimited arena of the faster form, whichever form the budget then takes") {
  for (const uint64_t seed : seeds(3)) {
    const std::vector<TaskGraph> forms = two_forms(seed);
    RandomCosts costs(seed);
    const auto unlimited = [&](std::vector<TaskGraph> of) {
      return Planner(std::move(of), costs, kFormBatch).plan(form_request(0)).value();
    };
    const Plan one = unlimited({forms[0]}), other = unlimited({forms[1]}), both = unlimited(forms);
    const Plan& faster = one.summary.iteration_seconds <= other.summary.iteration_seconds ? one : other;
    CHECK(both.summary.arena_bytes == faster.summary.arena_bytes);
    CHECK(both.summary.unconstrained_bytes == faster.summary.arena_bytes);
    CHECK(both.summary.unconstrained_seconds == faster.summary.iteration_seconds);
    PlanRequest request = form_request(0);
    request.budget_percent = 80;
    const Plan part = Planner(forms, costs, kFormBatch).plan(request).value();
    CHECK(part.budget_bytes == static_cast<int64_t>(0.8 * static_cast<double>(faster.summary.arena_bytes)));
  }
}

TEST_CASE("a policy that does not search plans the first form, with the plan that it has alone") {
  const std::vector<TaskGraph> forms = two_forms(1);
  RandomCosts costs(1);
  for (const char* policy : {"network-wide", "liveness", "superneurons"}) {
    const PlanRequest request{.policy = policy, .batch = kFormBatch, .budget_percent = 100};
    const Plan alone = Planner(forms[0], costs, kFormBatch).plan(request).value();
    const Plan plan = Planner(forms, costs, kFormBatch).plan(request).value();
    CHECK(plan.forms.at("attention") == "spelled");
    CHECK(plan.summary.arena_bytes == alone.summary.arena_bytes);
    CHECK(plan.summary.iteration_seconds == alone.summary.iteration_seconds);
    CHECK(check_against_graph(plan, forms[0]).empty());
  }
}

}  // namespace plimsoll
