// Chen's checkpoints on chains, for which the paper states the orders of growth.
#include <catch2/catch.hpp>

#include <cmath>

#include "passes/candidate.h"
#include "passes/policies.h"
#include "tests/passes/fixture.h"

using namespace plimsoll;
using plimsoll::test::chain;
using plimsoll::test::FakeCosts;
using plimsoll::test::flaw;

namespace {

constexpr int64_t kLayer = 64 * 1024;  // bytes of one layer's output

struct Planned {
  double layers_live = 0;  // the peak, in outputs of a layer, without weights
  double runs = 0;         // recomputed tasks per forward task
};

Planned plan_chain(int layers, int64_t limit, const std::string& policy = "sublinear") {
  TaskGraph graph = accumulating(chain(layers, kLayer / 4, 1));
  graph.batch = 2;
  FakeCosts costs;
  const auto candidate = make_candidate(graph, costs, 2, 1);
  REQUIRE(candidate.ok());
  const auto plan = plan_within(*candidate, *find_policy(policy), limit);
  REQUIRE(plan.ok());
  Plan judged = *plan;
  judged.budget_bytes = judged.summary.arena_bytes;
  CHECK(flaw(judged, graph) == "");
  return {.layers_live = static_cast<double>(plan->summary.live_bytes - plan->summary.persistent_bytes) / kLayer,
          .runs = static_cast<double>(plan->summary.recomputed_tasks) / (2 * layers)};
}

}  // namespace

TEST_CASE("one level keeps 2 sqrt(n) of n layers and runs the forward pass at most once more") {
  for (const int layers : {16, 64, 256, 1024}) {
    CAPTURE(layers);
    const Planned planned = plan_chain(layers, kNoLimit);
    CHECK(planned.layers_live <= 2 * std::sqrt(layers) + 4);
    CHECK(planned.layers_live >= std::sqrt(layers));
    CHECK(planned.runs <= 1);
    CHECK(planned.runs >= 0.5);
    CHECK(plan_chain(layers, kNoLimit, "liveness").layers_live >= 0.9 * layers);
  }
}

TEST_CASE("recursion keeps O(log n) of n layers and runs the forward pass O(log n) times") {
  double before = 0;
  for (const int layers : {16, 64, 256, 1024}) {
    CAPTURE(layers);
    const Planned planned = plan_chain(layers, 0);
    CHECK(planned.layers_live <= 2 * std::log2(layers) + 4);
    CHECK(planned.runs <= std::log2(layers));
    // Four times the layers need a few more levels, not twice the memory.
    if (before > 0) CHECK(planned.layers_live <= before + 6);
    before = planned.layers_live;
  }
}

TEST_CASE("a limit takes the fewest levels that meet it") {
  const Planned one = plan_chain(256, kNoLimit);
  const Planned same = plan_chain(256, static_cast<int64_t>((one.layers_live + 8) * kLayer));
  CHECK(same.runs <= one.runs);
  const int64_t tight = static_cast<int64_t>(one.layers_live / 2 * kLayer);
  const Planned two = plan_chain(256, tight);
  CHECK(two.layers_live * kLayer <= static_cast<double>(tight));
  CHECK(two.runs > one.runs);
  CHECK(two.runs < 3);
}
