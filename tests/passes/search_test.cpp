// Components of the search of policy auto, without a planner.
#include <catch2/catch.hpp>

#include <algorithm>
#include <random>

#include "fixture.h"
#include "passes/candidate.h"
#include "passes/policies.h"
#include "passes/search/archive.h"
#include "passes/search/bound.h"
#include "passes/search/frontier.h"
#include "passes/search/starts.h"
#include "passes/search/twins.h"
#include "tests/make_plan.h"

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
  for (const search::State& state : search::find_frontier(model, {.effort = 0, .means = means})) {
    bench.evaluate(state.decisions, state.limit);
    for (const schedule::Op& op : bench.trace) {
      counts.again += op.again;
      counts.moved += op.kind == StepKind::offload || op.kind == StepKind::prefetch;
    }
  }
  return counts;
}

TEST_CASE("an archive hands on the fastest of each stretch of 1/256") {
  const auto state = [](int64_t peak) {
    search::State made;
    made.outcome.peak_bytes = peak;
    made.outcome.seconds = 1e9 - static_cast<double>(peak);
    return made;
  };
  const auto peaks = [](const std::vector<search::State>& states) {
    std::vector<int64_t> all;
    for (const search::State& each : states) all.push_back(each.outcome.peak_bytes);
    return all;
  };
  // 31 schedules, spread evenly over 7 %: neighbours are within 1/256 of each other, yet they are not merged into one.
  search::Archive archive;
  for (int64_t i = 0; i <= 30; ++i) archive.add(state(100'000 + 7'000 * i / 30));
  const std::vector<int64_t> kept = peaks(archive.between(0, 200'000));
  CHECK(kept.front() == 100'000);
  CHECK(kept.back() == 107'000);
  CHECK(kept.size() == 16);
  // No known schedule is more than a bucket below the nearest kept one.
  for (int64_t i = 0; i <= 30; ++i) {
    const int64_t peak = 100'000 + 7'000 * i / 30;
    CHECK(std::any_of(kept.begin(), kept.end(), [&](int64_t one) { return one >= peak && one - peak <= peak / 256; }));
  }
  // The nearest schedules above a limit come from the kept ones, and the first is always the nearest of all.
  CHECK(peaks(archive.between(100'000, 200'000, 3)) == std::vector<int64_t>{100'233, 100'700, 101'166});
  CHECK(peaks(archive.between(106'800, 200'000, 3)) == std::vector<int64_t>{107'000});
  CHECK(archive.between(107'000, 200'000, 3).empty());
}

TEST_CASE("a schedule that an archive has handed on stays when the archive drops it") {
  search::Archive archive;
  const auto state = [](int64_t bytes, double seconds) {
    search::State made{.outcome = {.seconds = seconds, .peak_bytes = bytes}};
    made.decisions = schedule::Decisions();
    return made;
  };
  archive.add(state(100, 2));
  const auto fastest = archive.fastest(100), tightest = archive.tightest();
  archive.add(state(90, 1));
  for (const auto& each : {fastest, tightest}) {
    REQUIRE(each);
    CHECK(each->outcome.peak_bytes == 100);
    CHECK(each->decisions == search::SharedDecisions(schedule::Decisions()));
  }
  CHECK(archive.tightest()->outcome.peak_bytes == 90);
  CHECK_FALSE(archive.fastest(89));
}

//   x ─ a0 ─ b0 ─ a1 ─ b1 ─ … ─ a4, a wider one, ─ b4 ─ … ─ a8 ─ b8 ─ loss
TEST_CASE("twins are tensors of one part in identical blocks") {
  test::GraphMaker make;
  TensorId last = make.activation("x", 256);
  make.task("data", TaskKind::forward, {}, {last});
  std::vector<TensorId> inner, outer;
  const auto block = [&](int64_t width) {
    const std::string name = std::to_string(inner.size());
    inner.push_back(make.activation("a" + name, width));
    outer.push_back(make.activation("b" + name, 512));
    make.task("f" + name, TaskKind::forward, {last}, {inner.back()});
    make.task("g" + name, TaskKind::forward, {inner.back()}, {outer.back()});
    last = outer.back();
  };
  for (const int64_t width : {256, 256, 256, 256, 768, 256, 256, 256, 256}) block(width);
  make.task("loss", TaskKind::loss, {last}, {make.activation("end", 256)});
  test::FakeCosts costs;
  const Candidate candidate = make_candidate(make.graph_, costs, 1, 1).value();
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  const auto classes_of = [&](const std::vector<TensorId>& tensors) {
    std::vector<int32_t> asked;
    for (const TensorId tensor : tensors) asked.push_back(static_cast<int32_t>(tensor.value));
    std::vector<std::string> classes;
    for (const std::vector<int32_t>& twins : search::find_twins(model, asked)) {
      std::string& names = classes.emplace_back();
      for (const int32_t twin : twins) names += (names.empty() ? "" : " ") + make.graph_.tensors[TensorId(twin)].name;
    }
    return classes;
  };
  // Three tasks upstream: a1 and b0 still see the beginning, b5 the wide one. b8 has another reader.
  CHECK(classes_of(inner) == std::vector<std::string>{"a0", "a1", "a2 a3 a6 a7 a8", "a4", "a5"});
  CHECK(classes_of(outer) == std::vector<std::string>{"b0", "b1 b2 b3 b6 b7", "b4", "b5", "b8"});
}

// Twenty layers of equal size. With room for everything: 20 forward tasks, 20 backward tasks and the loss. The
// additional recomputations under a tight limit are those of rotor's recurrence (tools/bench/planner/chain_dp.py).
TEST_CASE("on a chain, recomputation is as cheap as the exact answer") {
  constexpr int kLayers = 20;
  test::GraphMaker make;
  std::vector<TensorId> y = {make.activation("y0", 64)};
  make.graph_.tasks[make.task("data", TaskKind::forward, {}, {y[0]})].may_run_again = false;
  for (int i = 1; i <= kLayers; ++i) {
    y.push_back(make.activation("y" + std::to_string(i), 64));
    make.task("f" + std::to_string(i), TaskKind::forward, {y[static_cast<size_t>(i) - 1]}, {y.back()});
  }
  TensorId gradient = make.activation("d20", 64);
  make.task("loss", TaskKind::loss, {y.back()}, {gradient});
  for (int i = kLayers; i >= 1; --i) {
    const TensorId next = make.activation("d" + std::to_string(i - 1), 64);
    make.task("b" + std::to_string(i), TaskKind::backward, {y[static_cast<size_t>(i) - 1], gradient}, {next});
    gradient = next;
  }
  test::FakeCosts costs;
  const Candidate candidate = make_candidate(make.graph_, costs, 1, 1).value();
  Policy policy = find_policy("auto").value();
  policy.order = OrderKind::depth_first;
  const schedule::Model model = ordered_model(candidate, policy);
  const std::vector<search::State> frontier =
      search::find_frontier(model, {.effort = 0, .means = {.recompute = true, .offload = false}});
  // y0 exists from the first task on, which takes a millisecond like all others.
  for (const auto& [tensors, again] : {std::pair(5, 46), {6, 26}, {7, 20}, {8, 14}, {10, 12}, {16, 6}, {22, 0}}) {
    const search::State* fastest = nullptr;
    for (const search::State& state : frontier)
      if (state.outcome.fits(tensors * 256)) fastest = &state;
    CAPTURE(tensors);
    REQUIRE(fastest);
    CHECK(fastest->outcome.seconds == Approx(1e-3 * (2 * kLayers + 2 + again)));
  }
}

// An evicted tensor is recomputed through all large tensors before it; keeping a small one may avoid that.
TEST_CASE(
    "without copies, the least is below what everything away needs, and below it with any one tensor that stays") {
  constexpr search::Means kRecompute = {.recompute = true, .offload = false};
  int lower = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    test::FakeCosts costs;
    const TaskGraph graph = test::random_graph(seed, 16);
    const Candidate candidate = make_candidate(graph, costs, 4, 4).value();
    const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
    search::Workbench bench(model);
    const search::State away = search::minimum_schedule(bench, kRecompute);
    const std::vector<search::State> frontier = search::find_frontier(model, {.effort = 0, .means = kRecompute});
    const search::State least = bench.evaluate(frontier.front().decisions, frontier.front().limit);
    CAPTURE(seed);
    CHECK(least.outcome.peak_bytes == frontier.front().outcome.peak_bytes);
    lower += least.outcome.peak_bytes < away.outcome.peak_bytes;
    for (size_t id = 0; id < model.tensors.size(); ++id) {
      search::Decisions decisions = away.decisions;
      if (decisions.activations[id].kind == search::DecisionKind::keep) continue;
      decisions.activations[id] = {};
      CHECK(least.outcome.peak_bytes <= bench.evaluate(std::move(decisions), 0).outcome.peak_bytes);
    }
  }
  CHECK(lower > 0);
}

TEST_CASE("a descent yields the frontier stretch by stretch, segment by segment, each within its bounds") {
  const TaskGraph graph = test::chain(12, 8, 1000);
  test::FakeCosts costs;
  const Candidate candidate = make_candidate(graph, costs, 8, 8).value();
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  search::Bound bound(model);
  search::Descent descent(model, {.effort = 1});
  descent.begin();
  std::vector<search::State> found;
  size_t stretches = 0;
  int64_t above = kNoLimit;
  for (size_t segment = 0; segment < descent.limits().segments.size(); ++segment) {
    const auto [first, end] = descent.limits().segments[segment];
    CHECK(descent.limits().above(first) == above);
    for (size_t stretch = 0; !descent.ended(segment); ++stretch, ++stretches) {
      REQUIRE(stretch < end - first);
      const search::Stretch brought = descent.next(segment);
      CHECK(brought.complete);
      CHECK(brought.last == descent.ended(segment));
      CHECK(brought.below < above);
      for (const search::State& state : brought.states) {
        CHECK(state.outcome.peak_bytes <= above);
        CHECK(state.outcome.peak_bytes > brought.below);
        CHECK(descent.limits().segment_of(state.outcome.peak_bytes) <= segment);
        CHECK(bound.seconds(state.outcome.peak_bytes) == search::Bound(model).seconds(state.outcome.peak_bytes));
        CHECK(bound.seconds(state.outcome.peak_bytes) <= state.outcome.seconds * (1 + 1e-9));
        found.push_back(state);
      }
      above = brought.below;
    }
  }
  CHECK(above < 0);
  CHECK(descent.limits().segments.size() > 1);
  CHECK(stretches > 3);
  const search::State* least = nullptr;
  for (const search::State& state : found)
    if (!least || state.outcome.peak_bytes < least->outcome.peak_bytes) least = &state;
  REQUIRE(least);
  CHECK(least->outcome.peak_bytes == search::find_frontier(model, {.effort = 1}).front().outcome.peak_bytes);
}

TEST_CASE("a segment gives the same result whichever segments were searched before, also after it was reset") {
  const TaskGraph graph = test::chain(12, 8, 1000);
  test::FakeCosts costs;
  const Candidate candidate = make_candidate(graph, costs, 8, 8).value();
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  const auto bring = [](search::Descent& descent, size_t segment) {
    std::vector<search::Decisions> decisions;
    while (!descent.ended(segment))
      for (const search::State& state : descent.next(segment).states) decisions.push_back(state.decisions);
    return decisions;
  };
  search::Descent down(model, {.effort = 1}), up(model, {.effort = 1});
  down.begin();
  up.begin();
  REQUIRE(down.limits().segments.size() == up.limits().segments.size());
  std::vector<std::vector<search::Decisions>> brought(down.limits().segments.size());
  for (size_t segment = 0; segment < down.limits().segments.size(); ++segment) brought[segment] = bring(down, segment);
  for (size_t segment = up.limits().segments.size(); segment-- > 0;) CHECK(bring(up, segment) == brought[segment]);
  up.forget(1);
  (void)up.next(1);
  up.forget(1);
  CHECK(bring(up, 1) == brought[1]);
  CHECK(!brought[1].empty());
}

TEST_CASE("a descent that a deadline ends brings what there is") {
  const TaskGraph graph = test::chain(12, 8, 1000);
  test::FakeCosts costs;
  const Candidate candidate = make_candidate(graph, costs, 8, 8).value();
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  search::Descent descent(model, {.effort = 0});
  descent.begin();
  const search::Stretch brought = descent.next(0, Deadline::in(-1));
  CHECK(!brought.complete);
  CHECK(brought.below < 0);
  CHECK(descent.ended(0));
  REQUIRE(!brought.states.empty());
  CHECK(brought.states.back().outcome.peak_bytes == descent.minimum_bytes());
}

TEST_CASE("a descent that nobody waits for ends, and one that a deadline ended before it began says so") {
  const TaskGraph graph = test::chain(12, 8, 1000);
  test::FakeCosts costs;
  const Candidate candidate = make_candidate(graph, costs, 8, 8).value();
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  search::Descent descent(model, {.effort = 0}), late(model, {.effort = 0});
  descent.begin();
  std::stop_source stop;
  CHECK(descent.next(0, Deadline().unless(stop.get_token())).complete);
  stop.request_stop();
  CHECK(!descent.next(0, Deadline().unless(stop.get_token())).complete);
  CHECK(descent.complete());
  late.begin(Deadline::in(-1));
  CHECK(!late.complete());
  CHECK(!late.next(0).complete);
}

// x → bn → conv → …: bn saves its statistics. Each of the two takes a millisecond; recomputing bn takes a quarter of
// that.
TEST_CASE("a task that remembers is run again for its own price, and what it remembers stays") {
  constexpr int kLayers = 6;
  constexpr double kAgain = 0.25e-3;
  test::GraphMaker make;
  test::FakeCosts costs;
  std::vector<TensorId> x = {make.activation("x0", 64)}, y, statistics;
  make.graph_.tasks[make.task("data", TaskKind::forward, {}, {x[0]})].may_run_again = false;
  for (int i = 0; i < kLayers; ++i) {
    const std::string n = std::to_string(i);
    y.push_back(make.activation("y" + n, 64));
    statistics.push_back(make.tensor("s" + n, TensorKind::stash, 1));
    make.graph_.tasks[make.task("bn" + n, TaskKind::forward, {x.back()}, {y.back(), statistics.back()})].remembers = {
        statistics.back()};
    costs.special["bn" + n + " again"] = {{.name = "default", .seconds = kAgain}};
    x.push_back(make.activation("x" + std::to_string(i + 1), 64));
    make.graph_.tasks[make.task("conv" + n, TaskKind::forward, {y.back()}, {x.back()})].may_run_again = false;
  }
  TensorId gradient = make.activation("d", 64);
  make.task("loss", TaskKind::loss, {x.back()}, {gradient});
  for (size_t i = kLayers; i-- > 0;) {
    const std::string n = std::to_string(i);
    const TensorId dy = make.activation("dy" + n, 64), dx = make.activation("dx" + n, 64);
    make.task("conv" + n + ".backward", TaskKind::backward, {y[i], gradient}, {dy});
    make.task("bn" + n + ".backward", TaskKind::backward, {x[i], dy, statistics[i]}, {dx});
    gradient = dx;
  }
  const Candidate candidate = make_candidate(make.graph_, costs, 1, 1).value();
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  search::Workbench bench(model);
  int again = 0;
  for (const search::State& state :
       search::find_frontier(model, {.effort = 0, .means = {.recompute = true, .offload = false}})) {
    bench.evaluate(state.decisions, state.limit);
    const auto runs =
        std::count_if(bench.trace.begin(), bench.trace.end(), [](const schedule::Op& op) { return op.again; });
    CHECK(state.outcome.seconds == Approx(1e-3 * (4 * kLayers + 2) + kAgain * static_cast<double>(runs)));
    for (const TensorId kept : statistics)
      CHECK(std::count_if(bench.evaluator.lives().begin(), bench.evaluator.lives().end(),
                          [&](const schedule::Life& life) { return life.tensor == kept.value; }) == 1);
    CHECK(search::Bound(model).seconds(state.outcome.peak_bytes) <= state.outcome.seconds * (1 + 1e-9));
    again = std::max(again, static_cast<int>(runs));
  }
  CHECK(again == kLayers - 1);  // the last is needed at once
}

// Layers with small activations and large weights, each with optimizer state of the same size: persistent tensors
// dominate memory.
TaskGraph with_momentum(int layers, int64_t elements) {
  test::GraphMaker make;
  make.graph_ = test::chain(layers, 64, elements);
  for (const TaskId id : ids_of(make.graph_.tasks)) {
    if (make.graph_.tasks[id].kind != TaskKind::update) continue;
    const TensorType type = make.graph_.tensors[make.graph_.tasks[id].updates().front()].type;
    const TensorId state = make.graph_.tensors.push_back({.name = make.graph_.tasks[id].name + ".momentum",
                                                          .kind = TensorKind::optimizer_state,
                                                          .type = type,
                                                          .persistent = true});
    make.graph_.tasks[id].operands.push_back({state, Access::update, type});
  }
  make.graph_.batch = 8;
  return std::move(make.graph_);
}

Plan plan_with(const TaskGraph& graph, const PlanRequest& request) {
  test::FakeCosts costs;
  const Result<Plan> plan = make_plan(graph, costs, request);
  if (!plan.ok()) FAIL(plan.error().message);
  REQUIRE(test::flaw(*plan, graph) == "");
  return *plan;
}

TEST_CASE("weights and optimizer state live in the host pool where the budget says so, and nowhere else do") {
  constexpr int kLayers = 6;
  constexpr int64_t kBytes = 1 << 20;
  const TaskGraph graph = with_momentum(kLayers, kBytes / 4);
  const auto away = [](const Plan& plan, TensorKind kind) {
    return std::count_if(plan.tensors.begin(), plan.tensors.end(),
                         [&](const PlanTensor& tensor) { return tensor.kind == kind && tensor.at_home_on_host(); });
  };
  constexpr TensorKind kWeight = TensorKind::weight, kState = TensorKind::optimizer_state,
                       kGradient = TensorKind::weight_gradient;
  const Plan free = plan_with(graph, {.policy = "auto", .batch = 8});
  CHECK(away(free, kWeight) + away(free, kState) == 0);
  CHECK(free.summary.persistent_bytes == 2 * kLayers * kBytes);
  const Plan liveness = plan_with(graph, {.policy = "liveness", .batch = 8});
  CHECK(away(liveness, kWeight) + away(liveness, kState) == 0);

  // The rest is what an update accesses: one weight, its gradient, its state.
  CHECK(free.summary.minimum_bytes < 4 * kBytes);
  CHECK(liveness.summary.minimum_bytes > 2 * kLayers * kBytes);
  for (const int64_t sub_batch : {8, 4}) {
    CAPTURE(sub_batch);
    const Plan whole = plan_with(graph, {.policy = "auto", .batch = 8, .sub_batch = sub_batch});
    const Plan least = plan_with(
        graph, {.policy = "auto", .batch = 8, .sub_batch = sub_batch, .budget_bytes = whole.summary.minimum_bytes});
    CHECK(away(least, kWeight) == kLayers);
    CHECK(away(least, kState) == kLayers);
    const int64_t rounds = 8 / sub_batch;
    const bool adds_up = rounds > 1;
    CHECK(away(least, kGradient) == (adds_up ? kLayers : 0));
    CHECK(least.summary.persistent_bytes == 0);
    // Written back once per iteration, for any number of rounds. Weights are fetched for the forward and the backward
    // of each round; gradients for the backward of all rounds but the first, and perhaps for the update, and are
    // written back after the backward.
    CHECK(least.summary.offloaded_bytes < (2 * kLayers + 1) * kBytes + adds_up * rounds * kLayers * kBytes);
    CHECK(least.summary.prefetched_bytes >= (2 * rounds - 1 + adds_up * (rounds - 1)) * kLayers * kBytes);
    CHECK(least.summary.prefetched_bytes < (2 * rounds + 3 + adds_up * rounds) * kLayers * kBytes);
    CHECK(least.summary.host_pool_bytes >= (2 + adds_up) * kLayers * kBytes);
    const Plan some = plan_with(
        graph,
        {.policy = "auto", .batch = 8, .sub_batch = sub_batch, .budget_bytes = whole.summary.arena_bytes - kBytes / 2});
    CHECK(away(some, kWeight) + away(some, kState) >= 1);
    CHECK(some.summary.iteration_seconds <= least.summary.iteration_seconds);
  }
}

// The gradient of the last layer is complete first. Copying a slice takes longer than updating it.
TEST_CASE("over several rounds, slices of a state are updated in turn, as the links bring them beside the backward") {
  constexpr int64_t kElements = 1 << 20, kSlice = kElements;  // four slices each
  const TaskGraph graph = sliced(accumulating(with_momentum(20, kElements)), kSlice, true);
  test::FakeCosts costs;
  Candidate candidate = make_candidate(graph, costs, 8, 4).value();
  candidate.links.d2h_bytes_per_second = candidate.links.h2d_bytes_per_second = static_cast<double>(kSlice) / 10e-3;
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  search::Workbench bench(model);
  schedule::Decisions last = schedule::keep_everything(model);
  for (const int32_t id : model.all_host_residents)
    if (const schedule::ModelTensor& tensor = model.tensors[schedule::at(id)]; tensor.always_on_host())
      last.residences[schedule::at(tensor.residence)] = {.on_host = true};
  // Two more slices than an update accesses.
  const int64_t limit = bench.evaluate(last, 0).outcome.peak_bytes + 2 * kSlice;
  const double seconds_of_last = bench.evaluate(last, limit).outcome.seconds;
  const search::State in_turn = bench.evaluate(schedule::keep_everything(model), limit);
  std::vector<int32_t> updates;
  int32_t last_backward = -1;
  for (int32_t step = 0; step < static_cast<int32_t>(bench.trace.size()); ++step) {
    const schedule::Op& op = bench.trace[static_cast<size_t>(step)];
    if (op.kind != StepKind::compute) continue;
    const TaskKind kind = graph.tasks[TaskId(op.id)].kind;
    if (kind == TaskKind::update) updates.push_back(step);
    else last_backward = step;
  }
  REQUIRE(updates.size() == 80);
  CHECK(std::count_if(updates.begin(), updates.end(), [&](int32_t step) { return step < last_backward; }) >= 15);
  CHECK(in_turn.outcome.fits(limit));
  CHECK(in_turn.outcome.seconds < 0.95 * seconds_of_last);
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

TEST_CASE("without copies, evicting everything in a deep chain is not possible, and the search does without it") {
  const TaskGraph graph = test::chain(100);
  test::FakeCosts costs;
  const Candidate candidate = make_candidate(graph, costs, 8, 8).value();
  const schedule::Model model = ordered_model(candidate, find_policy("auto").value());
  constexpr search::Means kRecompute{.recompute = true, .offload = false};
  search::Workbench bench(model);
  CHECK_FALSE(search::minimum_schedule(bench, kRecompute).outcome.possible());
  CHECK(search::find_frontier(model, {.effort = 0, .means = kRecompute}).size() > 1);
}

}  // namespace
}  // namespace plimsoll
