
#include <catch2/catch.hpp>

#include <algorithm>

#include "fixture.h"
#include "passes/policies.h"
#include "passes/recipe.h"
#include "tests/make_plan.h"

namespace plimsoll {
namespace {

using test::chain;
using test::FakeCosts;
using test::flaw;
using test::random_graph;

// Every plan of these tests is checked.
Plan planned(TaskGraph graph, const PlanRequest& request, FakeCosts costs = {}) {
  graph.batch = request.batch;
  const Result<Plan> plan = make_plan(graph, costs, request);
  if (!plan.ok()) FAIL(plan.error().message);
  REQUIRE(flaw(*plan, graph) == "");
  return *plan;
}

TEST_CASE("without a budget a plan is unconstrained, and its arena is what it promises") {
  const Plan plan = planned(chain(4), {.batch = 8});
  CHECK(plan.rounds == 1);
  CHECK(plan.sub_batch == 8);
  CHECK(plan.budget_bytes == plan.summary.arena_bytes);
  CHECK(plan.summary.unconstrained_bytes == plan.summary.arena_bytes);
  CHECK(plan.summary.minimum_bytes < plan.summary.arena_bytes);
  CHECK(plan.summary.arena_bytes < plan.summary.network_wide_bytes);
  CHECK(plan.policy == "liveness");
}

// Four layers with 32 KiB of activations at batch 8. During conv4.backward_data, as during the loss, six of them are
// live: x, relu1…3, dconv4, drelu3. In addition there are the loss itself and dw4, whose update waits for the reader of
// w4.
TEST_CASE("a chain needs what is live at its peak, to the byte") {
  const Plan plan = planned(chain(4, 1024, 64), {.batch = 8});
  const int64_t activation = 1024 * 4 * 8, small = 256;
  CHECK(plan.summary.persistent_bytes == 4 * small);
  CHECK(plan.summary.arena_bytes == 4 * small + 6 * activation + 2 * small);
  CHECK(plan.tasks[plan.steps[StepId(plan.summary.peak_step)].task].name == "conv4.backward_data");
}

TEST_CASE("a budget that the whole batch does not fit is met by the fewest even rounds") {
  const TaskGraph graph = chain(4);
  const Plan free = planned(graph, {.batch = 16});
  const Plan plan = planned(graph, {.batch = 16, .budget_percent = 60});
  CHECK(plan.summary.arena_bytes <= plan.budget_bytes);
  CHECK(plan.budget_bytes == free.summary.arena_bytes * 60 / 100);
  CHECK(plan.rounds == 2);
  CHECK(plan.sub_batch == 8);
  for (const PlanTensor& tensor : plan.tensors)
    if (tensor.kind == TensorKind::weight_gradient) CHECK(tensor.persistent);
  // Updates come last, because they run once per iteration.
  bool updates = false;
  for (const Step& step : plan.steps) {
    if (step.kind != StepKind::compute) continue;
    const bool update = plan.tasks[step.task].kind == TaskKind::update;
    CHECK((update || !updates));
    updates = update;
  }
}

TEST_CASE("the next round's inputs get room where the budget leaves some, and change no decision") {
  const TaskGraph graph = chain(4);
  const Plan without = planned(graph, {.policy = "auto", .batch = 8, .sub_batch = 8});
  CHECK(without.inputs_ahead.bytes == 0);
  int64_t inputs = 0;
  for (const PlanTensor& tensor : without.tensors)
    if (tensor.kind == TensorKind::input) inputs += (tensor.bytes + 255) / 256 * 256;
  REQUIRE(inputs > 0);
  const int64_t begin = (without.summary.arena_bytes + 255) / 256 * 256, whole = begin + inputs;
  const Plan free = planned(graph, {.policy = "auto", .batch = 8, .sub_batch = 8, .inputs_ahead = true});
  CHECK(free.inputs_ahead == Block{begin, inputs});
  CHECK(free.summary.arena_bytes == whole);
  CHECK(free.summary.unconstrained_bytes == whole);
  CHECK(free.budget_bytes == whole);
  CHECK(free.steps.size() == without.steps.size());
  const auto within = [&](int64_t bytes, double percent, const char* policy = "auto") {
    return planned(graph, {.policy = policy,
                           .batch = 8,
                           .sub_batch = 8,
                           .budget_bytes = bytes,
                           .budget_percent = percent,
                           .inputs_ahead = true});
  };
  CHECK(within(0, 100).inputs_ahead.bytes == inputs);
  CHECK(within(whole, 0).inputs_ahead.bytes == inputs);
  CHECK(within(whole - 1, 0).inputs_ahead.bytes == 0);
  CHECK(within(whole - 1, 0).summary.arena_bytes == without.summary.arena_bytes);
  for (const double percent : {40.0, 60.0, 80.0}) {
    const Plan tight = within(0, percent);
    CHECK(tight.summary.arena_bytes <= tight.budget_bytes);
    const Plan plain =
        planned(graph, {.policy = "auto", .batch = 8, .sub_batch = 8, .budget_bytes = tight.budget_bytes});
    CHECK((tight.inputs_ahead.bytes > 0 || tight.summary.arena_bytes == plain.summary.arena_bytes));
    CHECK(tight.summary.iteration_seconds == plain.summary.iteration_seconds);
  }
  CHECK(within(0, 100, "liveness").inputs_ahead.bytes == 0);
}

// Rounds keep the gradients of all weights until the last one. With weights larger than activations, this exceeds what
// the whole batch needs in one round, although no budget was given.
TEST_CASE("rounds that were asked for fit 100 %, though they take more than one") {
  const TaskGraph graph = chain(6, 16, 65536);
  const Plan free = planned(graph, {.batch = 4});
  for (const char* policy : {"liveness", "auto"}) {
    const Plan plan = planned(graph, {.policy = policy, .batch = 4, .sub_batch = 2, .budget_percent = 100});
    CHECK(plan.rounds == 2);
    CHECK(plan.summary.unconstrained_bytes == free.summary.arena_bytes);
    CHECK(plan.budget_bytes > free.summary.arena_bytes);
    CHECK(plan.summary.arena_bytes <= plan.budget_bytes);
  }
}

TEST_CASE("the last round takes what is left, and workspaces serve both") {
  FakeCosts costs;
  costs.special["conv2.forward"] = {{.name = "fast", .workspace_bytes = 1000, .seconds = 1e-4}};
  const Plan plan = planned(chain(3), {.batch = 10, .sub_batch = 4}, costs);
  CHECK(plan.rounds == 3);
  CHECK(plan.last_sub_batch == 2);
  int64_t workspace = 0;
  for (const Step& step : plan.steps) workspace += step.workspace.bytes;
  CHECK(workspace == 4000);
  // Ten samples through conv2 and 14 other tasks, and three updates in the second of two rounds; copies are negligible.
  CHECK(plan.summary.iteration_seconds == Approx(10 * 1e-4 + 10 * 14 * 1e-3 + 2 * 3 * 1e-3).epsilon(1e-4));
}

TEST_CASE("the least budget that an error names then works, and one byte less does not") {
  for (const int64_t sub_batch : {0, 3}) {
    const TaskGraph graph = chain(5);
    FakeCosts costs;
    const Result<Plan> refused = make_plan(graph, costs, {.batch = 8, .sub_batch = sub_batch, .budget_bytes = 1000});
    REQUIRE(!refused.ok());
    CHECK(refused.error().code == ExitCode::budget_infeasible);
    CHECK(refused.error().message.find("test needs at least ") == 0);
    CHECK(refused.error().message.find("(budget: 1000 B)") != std::string::npos);
    const std::string first = refused.error().notes.front();
    INFO(first);
    const int64_t least = std::stoll(first.substr(first.find("minimum is ") + 11));
    const Plan plan = planned(graph, {.batch = 8, .sub_batch = sub_batch, .budget_bytes = least});
    CHECK(plan.summary.arena_bytes == least);
    CHECK(plan.summary.minimum_bytes == least);
    CHECK(!make_plan(graph, costs, {.batch = 8, .sub_batch = sub_batch, .budget_bytes = least - 1}).ok());
  }
}

TEST_CASE("the error says what is live at the peak and why it cannot leave") {
  const TaskGraph graph = chain(2);
  FakeCosts costs;
  const Result<Plan> refused = make_plan(graph, costs, {.batch = 1, .budget_bytes = 1});
  REQUIRE(!refused.ok());
  std::string all;
  for (const std::string& note : refused.error().notes) all += note + "\n";
  INFO(all);
  CHECK(all.find("the peak is conv2.backward_data: ") != std::string::npos);
  CHECK(all.find("drelu1, activation_gradient of 4.0 KiB: used by this step") != std::string::npos);
  CHECK(all.find("relu1, activation of 4.0 KiB: still needed by relu1.backward, and policy 'liveness' "
                 "offloads and recomputes nothing") != std::string::npos);
  CHECK(all.find("w1, weight of 1.0 KiB: persistent") != std::string::npos);
}

TEST_CASE("a binding budget takes a smaller workspace before it splits the batch") {
  const TaskGraph graph = chain(3);
  FakeCosts costs;
  costs.special["loss"] = {{.name = "greedy", .workspace_bytes = 100000, .seconds = 1e-4},
                           {.name = "middle", .workspace_bytes = 10000, .seconds = 2e-4},
                           {.name = "wasteful", .workspace_bytes = 20000, .seconds = 3e-4},
                           {.name = "frugal", .workspace_bytes = 0, .seconds = 4e-4}};
  const Plan free = planned(graph, {.batch = 4}, costs);
  const auto chosen = [](const Plan& plan) {
    for (const Step& step : plan.steps)
      if (step.kind == StepKind::compute && plan.tasks[step.task].name == "loss") return step.algorithm;
    return std::string();
  };
  CHECK(chosen(free) == "greedy");
  const int64_t without = free.summary.arena_bytes - 400128;  // 400000, aligned
  const Plan middle = planned(graph, {.batch = 4, .budget_bytes = without + 41000}, costs);
  CHECK(chosen(middle) == "middle");
  CHECK(middle.rounds == 1);
  const Plan frugal = planned(graph, {.batch = 4, .budget_bytes = without + 1000}, costs);
  CHECK(chosen(frugal) == "frugal");
  CHECK(frugal.rounds == 1);
}

TEST_CASE("a batch is split into each number of rounds, a huge one into hundreds of them only") {
  CHECK(even_sub_batches(10) == std::vector<int64_t>{5, 4, 3, 2, 1});
  CHECK(even_sub_batches(1) == std::vector<int64_t>{1});
  const auto rounds = [](int64_t batch, int64_t size) { return (batch + size - 1) / size; };
  for (const int64_t batch : {int64_t{1000}, int64_t{1} << 31}) {
    const std::vector<int64_t> sizes = even_sub_batches(batch);
    CHECK(sizes.size() < 600);
    CHECK(sizes.back() == 1);
    for (size_t i = 0; i + 1 < sizes.size(); ++i) {
      const int64_t one = rounds(batch, sizes[i]), next = rounds(batch, sizes[i + 1]);
      CAPTURE(batch, sizes[i], sizes[i + 1]);
      REQUIRE(sizes[i + 1] < sizes[i]);
      CHECK(sizes[i] == rounds(batch, one));  // the smallest sub-batch with this number of rounds
      if (batch == 1000) CHECK(next == rounds(batch, sizes[i] - 1));
      if (one > 32) CHECK(16 * (sizes[i + 1] + 1) >= 15 * sizes[i]);
    }
  }
}

TEST_CASE("few sub-batches are profiled") {
  const TaskGraph graph = chain(4);
  FakeCosts costs;
  const Result<Plan> plan = make_plan(graph, costs, {.batch = 256, .budget_percent = 30});
  REQUIRE(plan.ok());
  CHECK(plan->rounds == 4);
  CHECK(costs.prepared == std::vector<int64_t>{256, 1, 64});
}

// What is trained must not depend on the budget: several rounds are requested or allowed explicitly, or there is one.
TEST_CASE("where a task mixes samples, a budget splits no batch unless it may") {
  TaskGraph graph = chain(3);
  graph.tasks[TaskId(2)].mixes_samples = true;
  FakeCosts costs;
  for (const Policy& policy : all_policies()) {
    CAPTURE(policy.name);
    const std::string name(policy.name);
    const Result<Plan> refused = make_plan(graph, costs, {.policy = name, .batch = 8, .budget_bytes = 1});
    REQUIRE(!refused.ok());
    CHECK(refused.error().code == ExitCode::budget_infeasible);
    const std::vector<std::string>& notes = refused.error().notes;
    const auto number_after = [](const std::string& text, const std::string& words) {
      INFO(text);
      REQUIRE(text.find(words) != std::string::npos);
      return std::stoll(text.substr(text.find(words) + words.size()));
    };
    const int64_t least = number_after(notes.front(), "the minimum is ");
    const Plan whole = planned(graph, {.policy = name, .batch = 8, .budget_bytes = least});
    CHECK(whole.rounds == 1);
    CHECK(whole.summary.minimum_bytes == least);
    const Result<Plan> less = make_plan(graph, costs, {.policy = name, .batch = 8, .budget_bytes = least - 1});
    REQUIRE(!less.ok());
    CHECK(less.error().code == ExitCode::budget_infeasible);

    const auto way_out = std::find_if(notes.begin(), notes.end(), [](const std::string& note) {
      return note.find("--batch-norm split") != std::string::npos;
    });
    REQUIRE(way_out != notes.end());
    const int64_t in_rounds = number_after(*way_out, " (");
    CHECK(in_rounds < least);
    const Plan split =
        planned(graph, {.policy = name, .batch = 8, .budget_bytes = in_rounds, .may_split_statistics = true});
    CHECK(split.rounds > 1);
    CHECK(split.summary.minimum_bytes == in_rounds);
    CHECK(!make_plan(graph, costs,
                     {.policy = name, .batch = 8, .budget_bytes = in_rounds - 1, .may_split_statistics = true})
               .ok());
    CHECK(planned(graph, {.policy = name, .batch = 8, .sub_batch = 4}).rounds == 2);
  }
}

TEST_CASE("tensors whose bytes together would overflow are refused, not added up") {
  const TaskGraph graph = chain(100, int64_t{1} << 47);  // a tensor has 2^49 bytes, and there are some hundreds
  FakeCosts costs;
  const Result<Plan> refused = make_plan(graph, costs, {.batch = 1});
  REQUIRE(!refused.ok());
  CHECK(refused.error().code == ExitCode::invalid_model);
  CHECK(refused.error().message.find("the tensors of a batch of 1, up to '") == 0);
  CHECK(refused.error().message.find("more than 72,057,594,037,927,936 bytes together") != std::string::npos);
  CHECK(make_plan(chain(100, int64_t{1} << 40), costs, {.batch = 1}).ok());
}

TEST_CASE("an unknown policy is refused with the names of all") {
  FakeCosts costs;
  const Result<Plan> plan = make_plan(chain(2), costs, {.policy = "magic"});
  REQUIRE(!plan.ok());
  CHECK(plan.error().message.rfind("unknown policy 'magic'; policies: auto, liveness, network-wide", 0) == 0);
  for (const Policy& policy : all_policies()) CHECK(plan.error().message.find(policy.name) != std::string::npos);
}

TEST_CASE("network-wide gives every tensor its own bytes") {
  const Plan plan = planned(chain(3), {.policy = "network-wide", .batch = 4});
  CHECK(plan.summary.arena_bytes == plan.summary.network_wide_bytes);
}

TEST_CASE("the observer sees each pass of the plan that is returned, once") {
  std::vector<std::string> passes;
  PlanRequest request{.batch = 16, .budget_percent = 60};
  request.observe = [&](const UnfinishedPlan& unfinished) {
    passes.push_back(unfinished.after);
    CHECK(unfinished.plan.sub_batch == 8);
    return true;
  };
  planned(chain(4), request);
  CHECK(passes == std::vector<std::string>{"seed_plan", "order", "schedule", "reduce", "copy_rounds", "liveness",
                                           "conv_algorithm", "place", "host_pool", "sync", "prune_waits", "simulate",
                                           "summarize", "needs"});
}

TEST_CASE("random graphs get sound plans under every budget that is possible") {
  for (unsigned seed = 0; seed < 40; ++seed) {
    const TaskGraph graph = random_graph(seed, 5 + static_cast<int>(seed));
    CAPTURE(seed);
    const Plan free = planned(graph, {.batch = 6});
    CHECK(free.summary.arena_bytes >= free.summary.live_bytes);
    CHECK(free.summary.arena_bytes <= free.summary.live_bytes * 1.1 + 8 * 256);
    for (const int64_t budget :
         {free.summary.minimum_bytes, (free.summary.minimum_bytes + free.summary.arena_bytes) / 2}) {
      const Plan tight = planned(graph, {.batch = 6, .budget_bytes = budget});
      CHECK(tight.summary.arena_bytes <= budget);
    }
    planned(graph, {.policy = "network-wide", .batch = 6});
  }
}

TEST_CASE("limits within a smaller budget are the last of those within a larger one, and large graphs have fewer") {
  constexpr int64_t kAll = 1'000'000;
  size_t before = std::numeric_limits<size_t>::max();
  for (const size_t tasks : {1'000u, 5'000u, 20'000u, 200'000u}) {
    const std::vector<int64_t> all = limits_within(2 * kAll, kAll, tasks);
    CHECK(all.size() < before);
    CHECK(std::is_sorted(all.rbegin(), all.rend()));
    before = all.size();
    for (const int64_t budget : {1'500'000, 1'000'000, 600'000, 123'456, 60'000}) {
      const std::vector<int64_t> some = limits_within(budget, kAll, tasks);
      REQUIRE(!some.empty());
      CHECK(some.front() <= budget);
      CHECK(some == std::vector(all.end() - static_cast<std::ptrdiff_t>(some.size()), all.end()));
    }
  }
}

}  // namespace
}  // namespace plimsoll
