// Pairs that share bytes, and live bytes, do not depend on the order in which a plan lists its residencies.
#include <catch2/catch.hpp>

#include <algorithm>
#include <set>
#include <tuple>

#include "fixture.h"
#include "passes/analysis/liveness.h"
#include "passes/pipeline.h"

namespace plimsoll {
namespace {

using NamedPair = std::tuple<int32_t, int32_t, int32_t>;  // tensor that is read, tensor that is written, step

std::set<NamedPair> named_pairs(const Plan& plan) {
  std::set<NamedPair> pairs;
  for (const SharedPair& pair : find_shared_pairs(plan, Policy{}))
    pairs.insert({plan.residencies[pair.read].tensor.value, plan.residencies[pair.written].tensor.value, pair.step});
  return pairs;
}

}  // namespace

TEST_CASE("residencies in any order share the same bytes") {
  TaskGraph graph = test::chain(5);
  graph.batch = 1;
  const Choices choices(graph.tasks.size(),
                        {Choice{.algorithm = "a", .workspace_bytes = 256, .seconds = 1, .last_seconds = 1}});
  const Context context{.graph = graph, .choices = choices};
  Plan plan;
  plan.batch = plan.sub_batch = plan.rounds = plan.last_sub_batch = 1;
  for (const Pass& pass : all_passes()) {
    REQUIRE(pass.run(plan, context).ok());
    if (pass.name == "liveness") break;
  }
  const std::set<NamedPair> pairs = named_pairs(plan);
  const std::vector<int64_t> live = live_bytes(plan, Policy{}, true);
  REQUIRE(pairs.size() > 1);
  std::reverse(plan.residencies.begin(), plan.residencies.end());
  CHECK((named_pairs(plan) == pairs));
  CHECK(live_bytes(plan, Policy{}, true) == live);
}

}  // namespace plimsoll
