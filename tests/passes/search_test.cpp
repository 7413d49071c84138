// The search of policy auto, where it can be looked at without a planner around it.
#include <catch2/catch.hpp>

#include "fixture.h"
#include "passes/candidate.h"
#include "passes/search/frontier.h"

namespace plimsoll {
namespace {

struct Counts {
  int moved = 0, again = 0;
};

Counts count(const TaskGraph& graph, const search::Means& means) {
  test::FakeCosts costs;
  const Candidate candidate = make_candidate(graph, costs, 4, 4).value();
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  search::Workbench bench(model);
  Counts counts;
  for (const search::State& state : search::find_frontier(model, {.effort = 0, .means = means}).states) {
    bench.evaluate(state.fates, state.limit);
    for (const schedule::Op& op : bench.trace) {
      counts.again += op.again;
      counts.moved += op.kind == StepKind::offload || op.kind == StepKind::prefetch;
    }
  }
  return counts;
}

TEST_CASE("the search uses the means that it is given, and no others") {
  int again = 0, moved = 0;
  for (unsigned seed = 0; seed < 6; ++seed) {
    const TaskGraph graph = test::random_graph(seed, 20);
    CAPTURE(seed);
    const Counts recomputed = count(graph, {.recompute = true, .offload = false});
    CHECK(recomputed.moved == 0);
    again += recomputed.again;
    const Counts offloaded = count(graph, {.recompute = false, .offload = true});
    CHECK(offloaded.again == 0);
    moved += offloaded.moved;
  }
  CHECK(again > 0);
  CHECK(moved > 0);
}

}  // namespace
}  // namespace plimsoll
