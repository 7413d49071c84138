// The verifier between passes: it accepts what the passes make, and names the pass whose promise a damage breaks.
#include <catch2/catch.hpp>

#include "fixture.h"
#include "passes/pipeline.h"
#include "passes/verify.h"

namespace plimsoll {
namespace {

struct Damage {
  const char* pass;
  const char* message;
  void (*damage)(Plan& plan);
};

// Of the plan of a chain, right after the pass. Its last step is an update.
const Damage kDamages[] = {
    {"seed_plan", "tensors or tasks of the graph are missing",
     [](Plan& plan) { plan.tasks.edit().resize(plan.tasks.size() - 1); }},
    {"order", "never runs", [](Plan& plan) { plan.steps.resize(plan.steps.size() - 1); }},
    {"order", "reads a tensor that was never made",
     [](Plan& plan) { std::swap(plan.steps[StepId(0)], plan.steps.back()); }},
    {"schedule", "runs twice", [](Plan& plan) { plan.steps.push_back(plan.steps.back()); }},
    {"liveness", "accesses a tensor outside its residencies", [](Plan& plan) { plan.residencies.pop_back(); }},
    {"conv_algorithm", "has no algorithm of its task", [](Plan& plan) { plan.steps.back().algorithm = "none"; }},
    {"place", "has no address in the arena", [](Plan& plan) { plan.residencies.back().offset += 1; }},
    {"sync", "waits for step", [](Plan& plan) { plan.steps[StepId(1)].waits.push_back(StepId(1)); }},
    {"simulate", "starts before it may", [](Plan& plan) { plan.steps[StepId(2)].start = -1; }},
};

}  // namespace

TEST_CASE("the verifier names the pass that broke its promise") {
  TaskGraph graph = test::chain(3);
  graph.batch = 1;
  const Choices choices(graph.tasks.size(),
                        {Choice{.algorithm = "a", .workspace_bytes = 256, .seconds = 1, .last_seconds = 1}});
  const Context context{.graph = graph, .choices = choices};
  for (const Damage& each : kDamages) {
    Plan plan;
    plan.batch = plan.sub_batch = plan.rounds = plan.last_sub_batch = 1;
    bool seen = false;
    for (const Pass& pass : all_passes()) {
      REQUIRE(pass.run(plan, context).ok());
      REQUIRE(verify_after(pass.name, plan, context).ok());
      if (pass.name != each.pass) continue;
      each.damage(plan);
      const Status broken = verify_after(pass.name, plan, context);
      INFO(each.pass << ": " << each.message);
      REQUIRE_FALSE(broken.ok());
      CHECK(broken.error().message.starts_with(std::string("pass ") + each.pass + " broke"));
      CHECK(broken.error().message.find(each.message) != std::string::npos);
      seen = true;
      break;
    }
    CHECK(seen);
  }
}

// The tests' builds are hardened, so every pipeline of every test is verified.
TEST_CASE("hardened builds verify between passes") {
#ifdef _GLIBCXX_ASSERTIONS
  CHECK(kVerifyPasses);
#else
  CHECK_FALSE(kVerifyPasses);
#endif
}

}  // namespace plimsoll
