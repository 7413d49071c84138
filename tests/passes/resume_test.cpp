// Planning continues from the text of the plan after any pass, and ends in the same plan.
#include "passes/resume.h"

#include <catch2/catch.hpp>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include "compiler/ir/plan_json.h"
#include "fixture.h"
#include "passes/policies.h"
#include "tests/make_plan.h"

namespace plimsoll {
namespace {

using test::chain;
using test::FakeCosts;
using test::random_graph;

// A convolution has algorithms to choose from, so that a limit decides.
FakeCosts costs_with_choices() {
  FakeCosts costs;
  for (const char* task : {"conv1.forward", "conv2.forward", "conv3.backward_data"})
    costs.special[task] = {{.name = "fast", .workspace_bytes = 4096, .seconds = 1e-3},
                           {.name = "small", .workspace_bytes = 0, .seconds = 2e-3}};
  return costs;
}

std::string bytes_of(Plan plan) {
  plan.summary.planning_seconds = 0;
  return to_json(plan);
}

struct Interrupted {
  std::vector<std::string> texts = {};  // after each pass
  std::string plan = {};                // of the planner that was not interrupted; empty: there is none
};

Interrupted interrupt(const TaskGraph& graph, FakeCosts costs, PlanRequest request) {
  Interrupted found;
  request.observe = [&](const UnfinishedPlan& unfinished) {
    found.texts.push_back(to_text(unfinished));
    return true;
  };
  const Result<Plan> plan = make_plan(graph, costs, request);
  if (!plan.ok()) REQUIRE(plan.error().code == ExitCode::budget_infeasible);
  if (plan.ok()) found.plan = bytes_of(*plan);
  return found;
}

// Each text is read by a planner that has seen nothing else. Returns the number of texts.
size_t check_continues(TaskGraph graph, const PlanRequest& request) {
  graph.batch = request.batch * graph.ranks;
  const Interrupted interrupted = interrupt(graph, costs_with_choices(), request);
  if (interrupted.plan.empty()) return 0;
  CHECK(interrupted.texts.size() == all_passes().size());
  for (const std::string& text : interrupted.texts) {
    const Result<UnfinishedPlan> read = unfinished_plan_from_text(text);
    if (!read.ok()) FAIL(read.error().message);
    CAPTURE(read->after, request.policy);
    CHECK(to_text(*read) == text);
    FakeCosts costs = costs_with_choices();
    Planner planner(graph, costs, request.batch);
    const Result<Plan> plan = planner.plan_from(*read, request);
    if (!plan.ok()) FAIL(plan.error().message);
    CHECK(bytes_of(*plan) == interrupted.plan);
  }
  return interrupted.texts.size();
}

// The status of planning that continues from `text` in the plan of a chain.
Status continued(const std::string& text, const PlanRequest& request, FakeCosts costs = costs_with_choices()) {
  TaskGraph graph = chain(4);
  graph.batch = request.batch;
  PLIMSOLL_ASSIGN(const UnfinishedPlan read, unfinished_plan_from_text(text));
  PLIMSOLL_TRY(Planner(graph, costs, request.batch).plan_from(read, request));
  return {};
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

}  // namespace

TEST_CASE("planning continues after every pass of every policy, and ends in the same bytes") {
  size_t texts = 0;
  for (const Policy& policy : all_policies())
    for (const double percent : {0.0, 100.0, 70.0, 45.0, 25.0})
      texts += check_continues(chain(4), {.policy = std::string(policy.name), .batch = 8, .budget_percent = percent});
  CHECK(texts > 15 * 3 * all_passes().size());
}

TEST_CASE("planning continues for several rounds, ranks, host budgets and random graphs") {
  TaskGraph on_ranks = chain(4);
  on_ranks.ranks = 2;
  for (const char* policy : {"auto", "liveness", "dymem"}) {
    CHECK(check_continues(chain(4), {.policy = policy, .batch = 9, .sub_batch = 2, .budget_percent = 90}) > 0);
    CHECK(check_continues(on_ranks, {.policy = policy, .batch = 8, .budget_percent = 100}) > 0);
  }
  CHECK(check_continues(chain(4), {.policy = "auto", .batch = 8, .budget_percent = 70, .host_budget_bytes = 40'000}) >
        0);
  CHECK(check_continues(chain(4), {.policy = "auto", .batch = 8, .budget_percent = 100, .inputs_ahead = true}) > 0);
  for (unsigned seed = 0; seed < 8; ++seed)
    for (const char* policy : {"auto", "superneurons", "sublinear"})
      for (const double percent : {100.0, 60.0})
        check_continues(random_graph(seed, 12), {.policy = policy, .batch = 6, .budget_percent = percent});
}

TEST_CASE("what does not belong to the plan is refused, with what to do") {
  const PlanRequest request{.policy = "auto", .batch = 8, .budget_percent = 60};
  TaskGraph graph = chain(4);
  graph.batch = 8;
  const Interrupted interrupted = interrupt(graph, costs_with_choices(), request);
  REQUIRE(interrupted.texts.size() == all_passes().size());
  const auto message = [&](const std::string& text, FakeCosts costs = costs_with_choices()) {
    const Status status = continued(text, request, std::move(costs));
    REQUIRE_FALSE(status.ok());
    return status.error().message;
  };
  const std::string after_order = interrupted.texts[1];
  CHECK(continued(after_order, request).ok());
  CHECK(message(after_order, FakeCosts()) == "the costs differ from those that it was written with");
  CHECK(message(replaced(after_order, " graph=", " graph=0")) ==
        "the task graph differs from the one that it was written for");
  CHECK(
      message(replaced(after_order, "after=order", "after=lunch")).starts_with("unknown pass 'lunch'; passes: seed_"));
  CHECK(message(replaced(after_order, "decided auto", "decided magic")).starts_with("unknown policy 'magic'"));
  CHECK(message(replaced(after_order, "algorithms=fitting", "algorithms=any")) ==
        "algorithms is 'any'; expected one of fitting, smallest, fastest");
  CHECK(message(replaced(after_order, " batch=8 ", " batch=16 ")).starts_with("its tensors and tasks"));
  CHECK(message(replaced(after_order, "tensor %x input ", "tensor %x input 1"))
            .starts_with("its tensors and tasks are not those of its task graph"));
  // The pass that a text contradicts is named.
  const std::string step = "compute  conv1.forward\n";
  CHECK(message(replaced(after_order, step, "")).starts_with("pass order broke what it promises"));
}

TEST_CASE("a stopped planner returns the plan as the pass has left it") {
  PlanRequest request{.policy = "auto", .batch = 8, .budget_percent = 60};
  std::string last;
  request.observe = [&](const UnfinishedPlan& unfinished) {
    last = unfinished.after;
    return last != "liveness";
  };
  TaskGraph graph = chain(4);
  graph.batch = 8;
  FakeCosts costs = costs_with_choices();
  const Result<Plan> plan = make_plan(graph, costs, request);
  REQUIRE(plan.ok());
  CHECK(last == "liveness");
  CHECK_FALSE(plan->residencies.empty());
  CHECK(plan->summary.arena_bytes == 0);
}

// Lines of a text are left out, doubled, exchanged, and their numbers changed. Whatever remains readable is continued
// or refused: no pass meets what it does not expect.
TEST_CASE("a damaged text of a plan is continued or refused") {
  const PlanRequest request{.policy = "auto", .batch = 8, .budget_percent = 45};
  TaskGraph graph = chain(3);
  graph.batch = 8;
  const Interrupted interrupted = interrupt(graph, costs_with_choices(), request);
  REQUIRE_FALSE(interrupted.plan.empty());
  std::minstd_rand random(1);
  size_t refused = 0, went_on = 0;
  for (const std::string& text : interrupted.texts) {
    std::vector<std::string> lines;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) lines.push_back(line);
    for (int run = 0; run < 150; ++run) {
      std::vector<std::string> changed = lines;
      for (unsigned changes = 1 + random() % 2; changes > 0; --changes) {
        const size_t at = random() % changed.size(), other = random() % changed.size();
        switch (random() % 4) {
          case 0: changed.erase(changed.begin() + static_cast<std::ptrdiff_t>(at)); break;
          case 1: changed.insert(changed.begin() + static_cast<std::ptrdiff_t>(at), std::string(changed[other])); break;
          case 2: std::swap(changed[at], changed[other]); break;
          default:
            if (const size_t digit = changed[at].find_first_of("0123456789"); digit != std::string::npos)
              changed[at][digit] = static_cast<char>('0' + random() % 10);
        }
      }
      std::string damaged;
      for (const std::string& line : changed) damaged += line + "\n";
      const Result<UnfinishedPlan> read = unfinished_plan_from_text(damaged);
      if (!read.ok()) continue;
      FakeCosts costs = costs_with_choices();
      INFO(damaged);
      const Result<Plan> plan = Planner(graph, costs, request.batch).plan_from(*read, request);
      if (!plan.ok()) REQUIRE(plan.error().code != ExitCode::internal);
      ++(plan.ok() ? went_on : refused);
    }
  }
  CHECK(refused > 100);
  CHECK(went_on > 20);
}

}  // namespace plimsoll
