// The bounds on schedules (passes/search/bound.h) on graphs made by hand. tests/check/bound_test.cpp has random ones.
#include <catch2/catch.hpp>

#include <algorithm>
#include <string>
#include <vector>

#include "fixture.h"
#include "passes/candidate.h"
#include "passes/policies.h"
#include "passes/search/bound.h"
#include "passes/search/frontier.h"

namespace plimsoll {
namespace {

// The copies of slices take steps of a schedule, but none of the order. A bound that counts the bytes at a step of one
// and the tensors that may leave at the same step of the other asks for bytes that have left.
//
//   order     …  loss  dW  update slices   b19  b18  b17  …  b0      the gap of x17 ends at b17
//   schedule  …  loss  dW  prefetch  update slice  offload  …  b19  b18  b17  …  b0
TEST_CASE("updates in slices do not shift the bytes of a step against the tensors that may leave there") {
  constexpr int kLayers = 20, kFullest = kLayers - 3;
  constexpr int64_t kElements = 1 << 14, kSlice = 1024;
  test::GraphMaker make;
  test::FakeCosts costs;
  std::vector<TensorId> x = {make.activation("x0", kElements)};
  make.task("data", TaskKind::forward, {}, {x[0]});
  const TensorId weight = make.weight("w", kSlice), state = make.weight("v", kSlice), dw = make.gradient("dw", kSlice);
  make.graph_.tensors[state].kind = TensorKind::optimizer_state;
  for (int i = 0; i < kLayers; ++i) {
    x.push_back(make.activation("x" + std::to_string(i + 1), kElements));
    std::vector<TensorId> reads = {x.end()[-2]};
    if (i + 1 == kLayers) reads.push_back(weight);
    make.task("f" + std::to_string(i), TaskKind::forward, reads, {x.back()});
  }
  TensorId gradient = make.activation("d", kElements);
  make.task("loss", TaskKind::loss, {x.back()}, {gradient});
  make.task("dw", TaskKind::backward_weights, {x.end()[-2], gradient}, {dw});
  for (int i = kLayers; i-- > 0;) {
    const TensorId next = make.activation("d" + std::to_string(i), kElements);
    make.task("b" + std::to_string(i), TaskKind::backward_data, {x[static_cast<size_t>(i)], gradient}, {next});
    gradient = next;
  }
  const TaskId update = make.task("update", TaskKind::update, {dw}, {}, {weight, state});
  std::vector<Operand>& updated = make.graph_.tasks[update].operands;
  std::rotate(updated.begin(), updated.begin() + 1, updated.end());  // the weight comes first
  costs.special["b" + std::to_string(kFullest)] = {
      {.name = "default", .workspace_bytes = 8 * 4 * kElements, .seconds = 1e-3}};
  for (const bool whole_weights : {true, false}) {
    CAPTURE(whole_weights);
    const TaskGraph graph = sliced(make.graph_, kSlice, whole_weights);
    REQUIRE(graph.slice_bytes == kSlice);
    Candidate candidate = make_candidate(graph, costs, 1, 1).value();
    candidate.links.d2h_bytes_per_second = candidate.links.h2d_bytes_per_second = 4 * kElements / 5e-3;
    const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
    search::Bound bound(model);
    const double unlimited = bound.seconds(kNoLimit);
    double most = 0;
    for (const search::State& state_found : search::find_frontier(model, {.effort = 0})) {
      CAPTURE(state_found.outcome.peak_bytes);
      CHECK(bound.seconds(state_found.outcome.peak_bytes) <= state_found.outcome.seconds * (1 + 1e-9));
      most = std::max(most, bound.seconds(state_found.outcome.peak_bytes));
    }
    CHECK(most > unlimited);
  }
}

// A tensor may leave between its backward uses as well (ActivationDecision::again), outside its gap:
//
//   order   data  f  loss  bx  b0  …  b10  …  b19  by        x is read by f, bx and by; b10 has a large workspace
//   x             ^        ^                       ^
TEST_CASE("a tensor may be off the device between two backward uses") {
  constexpr int kTasks = 20;
  constexpr int64_t kLarge = 1 << 14, kSmall = 64;
  test::GraphMaker make;
  test::FakeCosts costs;
  const TensorId x = make.activation("x", kLarge), y = make.activation("y", kSmall);
  make.task("data", TaskKind::forward, {}, {x});
  make.task("f", TaskKind::forward, {x}, {y});
  TensorId gradient = make.activation("d", kSmall);
  make.task("loss", TaskKind::loss, {y}, {gradient});
  const auto backward = [&](const std::string& name, std::vector<TensorId> reads) {
    reads.push_back(gradient);
    gradient = make.activation("d" + name, kSmall);
    make.task(name, TaskKind::backward_data, reads, {gradient});
  };
  backward("bx", {x});
  for (int i = 0; i < kTasks; ++i) backward("b" + std::to_string(i), {});
  backward("by", {x});
  costs.special["b10"] = {{.name = "default", .workspace_bytes = 4 * kLarge, .seconds = 1e-3}};
  Candidate candidate = make_candidate(make.graph_, costs, 1, 1).value();
  candidate.links.d2h_bytes_per_second = candidate.links.h2d_bytes_per_second = kLarge;  // recomputing takes less time
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  search::Bound bound(model);
  int64_t least = kNoLimit, most = 0;
  for (const search::State& found : search::find_frontier(model, {.effort = 0})) {
    CAPTURE(found.outcome.peak_bytes);
    CHECK(bound.seconds(found.outcome.peak_bytes) <= found.outcome.seconds * (1 + 1e-9));
    least = std::min(least, found.outcome.peak_bytes);
    most = std::max(most, found.outcome.peak_bytes);
  }
  CHECK(most - least >= 3 * kLarge);  // x leaves while b10 runs
}

}  // namespace
}  // namespace plimsoll
