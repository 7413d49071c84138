// The guarantees of policy `auto`: never slower than another policy that fits, never slower with a larger budget or
// without one, never below its bound, and its minimum is feasible.
#include <catch2/catch.hpp>

#include <algorithm>
#include <vector>

#include "compiler/check/check.h"
#include "passes/policies.h"
#include "tests/make_plan.h"
#include "tests/random_graph.h"

using namespace plimsoll;

namespace {

bool mixes_samples(const TaskGraph& graph) {
  return std::any_of(graph.tasks.begin(), graph.tasks.end(), [](const Task& task) { return task.mixes_samples; });
}

template <class Seeds>
void hold_laws(const Seeds& all, bool may_split_statistics) {
  for (const uint64_t seed : all) {
    const int64_t batch = 1 + static_cast<int64_t>(seed % 5);
    const TaskGraph graph =
        shared(random_graph(seed, {.layers = 3 + static_cast<int>(seed % 20), .batch = batch, .mixed = seed % 2 == 1}),
               1 + seed % 3);
    if (may_split_statistics && !mixes_samples(graph)) continue;  // same as the other case
    RandomCosts costs(seed);
    // Every plan with a new planner, so that cached results of one budget cannot help another.
    const auto plan = [&](std::string_view policy, int64_t budget) {
      return make_plan(graph, costs,
                       {.policy = std::string(policy),
                        .batch = batch,
                        .budget_bytes = budget,
                        .may_split_statistics = may_split_statistics,
                        .effort = 0});
    };
    const auto free = plan("auto", 0);
    REQUIRE(free.ok());
    const int64_t least = free->summary.minimum_bytes, most = free->summary.arena_bytes;
    REQUIRE(least <= most);
    // In the unlimited case, orders within a millionth of each other count as equally fast, and the one with less
    // memory is taken.
    for (const Policy& other : all_policies()) {
      CAPTURE(seed, other.name);
      CHECK(free->summary.iteration_seconds <= plan(other.name, 0)->summary.iteration_seconds * (1 + 1e-6));
    }
    if (least > 256) {
      const auto below = plan("auto", least - 1);
      REQUIRE(!below.ok());
      CHECK(below.error().code == ExitCode::budget_infeasible);
    }
    double before = std::numeric_limits<double>::infinity();
    for (int part = 0; part <= 6; ++part) {
      const int64_t budget = least + (most - least) * part / 6;
      CAPTURE(seed, part, budget, least, most);
      const auto found = plan("auto", budget);
      REQUIRE(found.ok());
      CHECK(to_string(check_plan(*found)) == "");
      CHECK(found->summary.iteration_seconds <= before * (1 + 1e-9));
      CHECK(found->summary.bound_seconds <= found->summary.iteration_seconds);
      if (!may_split_statistics && mixes_samples(graph)) CHECK(found->rounds == 1);
      before = found->summary.iteration_seconds;
      if (part % 3 != 1) continue;
      for (const Policy& other : all_policies()) {
        CAPTURE(other.name);
        const auto rival = plan(other.name, budget);
        if (rival.ok()) CHECK(found->summary.iteration_seconds <= rival->summary.iteration_seconds * (1 + 1e-9));
        else CHECK(rival.error().code == ExitCode::budget_infeasible);
      }
    }
  }
}

}  // namespace

TEST_CASE("auto is never slower than a policy that fits, nor with more budget, nor faster than its bound") {
  hold_laws(seeds(40), false);
}

// Three ranks. The plan once had a faster algorithm during a reduction than the search had assumed.
TEST_CASE("the same on a graph that broke it once") { hold_laws(std::vector<uint64_t>{1007}, false); }

TEST_CASE("the same where batch normalization may see a part of the batch") { hold_laws(seeds(20), true); }

TEST_CASE("a search without time gives a sound plan, and no bound that a longer one goes below") {
  for (const uint64_t seed : seeds(10)) {
    const TaskGraph graph = random_graph(seed, {.layers = 6 + static_cast<int>(seed), .batch = 4});
    RandomCosts costs(seed);
    const auto plan = [&](int64_t budget, double seconds, bool& cut_short) {
      return make_plan(graph, costs,
                       {.policy = "auto",
                        .batch = 4,
                        .budget_bytes = budget,
                        .effort = 0,
                        .time_limit_seconds = seconds,
                        .cut_short = [&] { cut_short = true; }});
    };
    bool never = false;
    const auto free = plan(0, 0, never);
    REQUIRE(free.ok());
    for (const int64_t budget :
         {free->summary.minimum_bytes, (free->summary.minimum_bytes + free->summary.arena_bytes) / 2}) {
      bool hurried = false;
      const auto patient = plan(budget, 0, never), hasty = plan(budget, 1e-9, hurried);
      CAPTURE(seed, budget);
      REQUIRE((patient.ok() && hasty.ok()));
      CHECK((hurried && !never));
      CHECK(to_string(check_plan(*hasty)) == "");
      CHECK(hasty->summary.arena_bytes <= budget);
      CHECK(hasty->summary.bound_seconds > 0);
      CHECK(hasty->summary.bound_seconds <= patient->summary.iteration_seconds);
    }
  }
}

// The time limit is never reached here. If it were, the results of less effort would be available by then.
TEST_CASE("more effort gives no slower plan than less does, with and without a time limit") {
  for (const uint64_t seed : seeds(12)) {
    const TaskGraph graph = random_graph(seed, {.layers = 8 + static_cast<int>(seed % 12), .batch = 2});
    RandomCosts costs(seed);
    const auto plan = [&](int64_t budget, int effort, double seconds) {
      return make_plan(graph, costs,
                       {.policy = "auto",
                        .batch = 2,
                        .budget_bytes = budget,
                        .effort = effort,
                        .time_limit_seconds = seconds})
          .value();
    };
    const Plan free = plan(0, 0, 0);
    const int64_t budget = (2 * free.summary.minimum_bytes + free.summary.arena_bytes) / 3;
    const Plan little = plan(budget, 0, 0), more = plan(budget, 1, 0), most = plan(budget, 2, 0),
               limited = plan(budget, 1, 1e6);
    CAPTURE(seed, budget);
    CHECK(to_string(check_plan(limited)) == "");
    CHECK(more.summary.iteration_seconds <= little.summary.iteration_seconds * (1 + 1e-9));
    CHECK(most.summary.iteration_seconds <= more.summary.iteration_seconds * (1 + 1e-9));
    CHECK(limited.summary.iteration_seconds <= more.summary.iteration_seconds * (1 + 1e-9));
    CHECK(limited.summary.bound_seconds <= limited.summary.iteration_seconds);
  }
}
