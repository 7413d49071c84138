// Host budgets: they are kept, and the guarantees of `auto` hold under them.
#include <catch2/catch.hpp>

#include <algorithm>

#include "compiler/check/check.h"
#include "passes/policies.h"
#include "tests/make_plan.h"
#include "tests/random_graph.h"

using namespace plimsoll;

namespace {

// The number after `key` in one of the notes; -1: none.
int64_t number_after(const Error& error, const std::string& key) {
  for (const std::string& note : error.notes)
    if (const size_t at = note.find(key); at != note.npos) return std::stoll(note.substr(at + key.size()));
  return -1;
}

struct Machine {
  uint64_t seed;
  TaskGraph graph;
  int64_t batch;
  // Every plan with a new planner, so that cached results of one cannot help another.
  Result<Plan> plan(std::string_view policy, int64_t budget, int64_t host_budget) const {
    RandomCosts costs(seed);
    return make_plan(graph, costs,
                     {.policy = std::string(policy),
                      .batch = batch,
                      .budget_bytes = budget,
                      .host_budget_bytes = host_budget,
                      .effort = 0});
  }
};

Machine machine(uint64_t seed) {
  const int64_t batch = 1 + static_cast<int64_t>(seed % 4);
  return {seed, random_graph(seed, {.layers = 4 + static_cast<int>(seed % 14), .batch = batch, .mixed = seed % 2 == 1}),
          batch};
}

}  // namespace

TEST_CASE("a host budget is kept, and auto keeps what it promises beside it") {
  int bound = 0;
  for (const uint64_t seed : seeds(9)) {
    const Machine here = machine(seed);
    const Plan free = here.plan("auto", 0, kNoLimit).value();
    const int64_t pool = here.plan("auto", free.summary.minimum_bytes, kNoLimit)->summary.host_pool_bytes;
    for (const int64_t host_budget : {int64_t{0}, pool / 3}) {
      const int64_t least = here.plan("auto", 0, host_budget)->summary.minimum_bytes, most = free.summary.arena_bytes;
      CAPTURE(seed, pool, host_budget, least, most);
      CHECK(least >= free.summary.minimum_bytes);
      bound += least > free.summary.minimum_bytes;
      REQUIRE(least <= most);
      if (least > 256) CHECK(!here.plan("auto", least - 1, host_budget).ok());
      double before = std::numeric_limits<double>::infinity();
      for (int part = 0; part <= 3; ++part) {
        const int64_t budget = least + (most - least) * part / 3;
        CAPTURE(part, budget);
        const auto found = here.plan("auto", budget, host_budget);
        REQUIRE(found.ok());
        CHECK(to_string(check_plan(*found)) == "");
        CHECK(found->summary.arena_bytes <= budget);
        CHECK(found->summary.host_pool_bytes <= host_budget);
        CHECK(found->summary.iteration_seconds <= before * (1 + 1e-9));
        CHECK(found->summary.bound_seconds <= found->summary.iteration_seconds);
        before = found->summary.iteration_seconds;
        if (part != 1) continue;
        for (const Policy& other : all_policies()) {
          CAPTURE(other.name);
          const auto rival = here.plan(other.name, budget, host_budget);
          if (!rival.ok()) {
            CHECK(rival.error().code == ExitCode::budget_infeasible);
            continue;
          }
          CHECK(rival->summary.host_pool_bytes <= host_budget);
          CHECK(found->summary.iteration_seconds <= rival->summary.iteration_seconds * (1 + 1e-9));
        }
      }
    }
  }
  CHECK(bound > 4);
}

TEST_CASE("a host budget that is large enough changes nothing") {
  for (const uint64_t seed : seeds(6)) {
    const Machine here = machine(seed);
    const int64_t budget = here.plan("auto", 0, kNoLimit)->summary.minimum_bytes * 5 / 4;
    const Plan free = here.plan("auto", budget, kNoLimit).value(),
               beside = here.plan("auto", budget, int64_t{1} << 50).value();
    CHECK(free.summary.iteration_seconds == beside.summary.iteration_seconds);
    CHECK(free.summary.host_pool_bytes == beside.summary.host_pool_bytes);
    CHECK(free.steps.size() == beside.steps.size());
  }
}

TEST_CASE("what is said to work when a host budget leaves no plan does") {
  int told = 0;
  for (const uint64_t seed : seeds(16)) {
    const Machine here = machine(seed);
    const int64_t budget = here.plan("auto", 0, kNoLimit)->summary.minimum_bytes;
    for (const char* policy : {"auto", "vdnn-all:m", "superneurons"}) {
      CAPTURE(seed, budget, policy);
      const auto found = here.plan(policy, budget, 0);
      if (found.ok()) continue;
      REQUIRE(found.error().code == ExitCode::budget_infeasible);
      if (found.error().message.find("the host budget is too small") == std::string::npos) continue;
      ++told;
      const int64_t pool = number_after(found.error(), "--host-budget "),
                    arena = number_after(found.error(), "a budget of ");
      REQUIRE(pool > 0);
      const auto with_pool = here.plan(policy, budget, pool);
      REQUIRE(with_pool.ok());
      CHECK(with_pool->summary.host_pool_bytes <= pool);
      if (arena < 0) continue;
      const auto with_arena = here.plan(policy, arena, 0);
      REQUIRE(with_arena.ok());
      CHECK(with_arena->summary.host_pool_bytes == 0);
    }
  }
  CHECK(told > 4);
}

TEST_CASE("a policy without a search has a plan wherever its unlimited plan fits, with no host memory") {
  int without_schedule = 0;
  for (const uint64_t seed : seeds(6)) {
    const Machine here = machine(seed);
    for (const Policy& policy : all_policies()) {
      CAPTURE(seed, policy.name);
      const Plan free = here.plan(policy.name, 0, kNoLimit).value();
      const int64_t all = free.summary.unconstrained_bytes;
      without_schedule += free.summary.host_pool_bytes > 0;
      for (const int64_t budget : {int64_t{0}, all}) {
        const auto found = here.plan(policy.name, budget, 0);
        REQUIRE(found.ok());
        CHECK(to_string(check_plan(*found)) == "");
        CHECK(found->summary.host_pool_bytes == 0);
        CHECK(found->summary.minimum_bytes <= all);
      }
      const auto none = here.plan(policy.name, 1, 0);
      REQUIRE(!none.ok());
      const int64_t least = number_after(none.error(), "the minimum is ");
      CHECK((least > 0 && least <= all));
      CHECK(here.plan(policy.name, least, 0).ok());
    }
  }
  CHECK(without_schedule > 4);
}

// Its own schedule may need a larger arena than its unlimited plan, by fragmentation.
TEST_CASE("a policy without a search has a plan wherever its unlimited plan fits, without a host budget") {
  for (const uint64_t seed : {51, 62, 68, 95, 127}) {
    const Machine here = machine(seed);
    for (const Policy& policy : all_policies()) {
      CAPTURE(seed, policy.name);
      const Plan free = here.plan(policy.name, 0, kNoLimit).value();
      CHECK(free.summary.minimum_bytes <= free.summary.unconstrained_bytes);
      CHECK(here.plan(policy.name, free.summary.unconstrained_bytes, kNoLimit).ok());
    }
  }
}
