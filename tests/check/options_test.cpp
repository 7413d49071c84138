// No option of a search depends on the budget: what a small budget considers, a larger one considers too. Otherwise an
// iteration could become slower when memory grows. Each row of the table lists one kind of option.
#include <fmt/format.h>

#include <catch2/catch.hpp>
#include <set>

#include "passes/budget.h"
#include "passes/considered.h"
#include "passes/minimum.h"
#include "passes/policies.h"
#include "passes/recipe.h"
#include "passes/select_variant.h"
#include "tests/random_graph.h"

namespace plimsoll {
namespace {

constexpr int64_t kHostBudget = int64_t{1} << 40;

struct Asked {
  Planning planning;
  Found unlimited;
  Minimum minimum;
};

search::Descent& search_of(const Asked& asked, int64_t sub_batch) {
  const Planning& planning = asked.planning;
  Ordered& ordered = *planning.variants.ordered(sub_batch, planning.policy).value();
  return planning.searches.find(ordered, planning.policy, 0, kHostBudget).schedules;
}

using Values = std::set<std::string>;

// The memory limits of a frontier, and where its segments begin.
Values limits_of(const Asked& asked) {
  Values values;
  for (const int64_t size : asked.planning.sub_batches) {
    search::Descent& schedules = search_of(asked, size);
    schedules.begin();
    for (const auto& [first, end] : schedules.limits().segments)
      values.insert(fmt::format("{}: {} from {}", size, end - first, schedules.limits().above(first)));
  }
  return values;
}

// The schedules from which plans are made.
Values schedules_of(const Asked& asked) {
  Values values;
  for (const int64_t size : asked.planning.sub_batches) {
    search::Descent& schedules = search_of(asked, size);
    schedules.begin();
    const search::Limits& limits = schedules.limits();
    for (size_t segment = limits.segment_of(asked.planning.budget_bytes); segment < limits.segments.size(); ++segment) {
      while (!schedules.ended(segment)) schedules.next(segment);
      for (size_t stretch = 0; stretch < schedules.searched(segment); ++stretch)
        for (const search::State& state : schedules.stretch(segment, stretch).states)
          if (state.outcome.fits(asked.planning.budget_bytes))
            values.insert(fmt::format("{}: {} within {} in {}", size, state.outcome.peak_bytes, state.limit,
                                      state.outcome.seconds));
    }
  }
  return values;
}

struct Option {
  const char* name;
  Values (*values)(const Asked& asked);
};

const Option kOptions[] =
    {
        {"graphs and orders",
         [](const Asked& asked) {
  Values values;
  for (const auto& [graph, policy] : searched_variants(asked.planning, asked.unlimited, asked.minimum))
    values.insert(fmt::format("slices of {} in order {}", graph->graph().slice_bytes, static_cast<int>(policy.order)));
  return values;
         }},
        {"sub-batches",
         [](const Asked& asked) {
  Values values;
  for (const int64_t size : asked.planning.sub_batches) values.insert(std::to_string(size));
  return values;
         }},
             {"efforts",
              [](const Asked& asked) {
  Values values;
  for (const int effort : efforts_of(asked.planning.request)) values.insert(std::to_string(effort));
  return values;
              }},
    {"live limits of the other policies",
     [](const Asked& asked) {
  Values values;
  for (const int64_t limit : asked.planning.limits) values.insert(std::to_string(limit));
  return values;
     }},
    {"the smallest plan", [](const Asked& asked) { return Values{std::to_string(asked.minimum.least().arena())}; }},
    {"memory limits of the frontier", limits_of}, {"schedules of the frontier", schedules_of},
    };

TEST_CASE("no option of the search depends on the budget: a larger one has all options of a smaller one") {
  std::map<std::string, size_t> most;
  for (const uint64_t seed : seeds(8)) {
    const int64_t batch = 2 + static_cast<int64_t>(seed % 7);
    RandomCosts costs(seed);
    Searches searches;
    Variants variants(shared(random_graph(seed, {.layers = 6 + static_cast<int>(seed), .batch = batch}), 1 + seed % 2),
                      costs, batch);
    const Policy policy = find_policy("auto").value();
    const PlanRequest all{.policy = "auto", .batch = batch, .may_split_statistics = true, .effort = 1};
    const std::vector<int64_t> sizes = considered_sub_batches(all, variants);
    const Planning free{
        .variants = variants, .searches = searches, .request = all, .policy = policy, .sub_batches = sizes};
    const int64_t bytes = Recipe(free, policy).unlimited(batch).value().arena();
    std::map<std::string, Values> smaller;
    for (const int64_t percent : {30, 45, 60, 80, 100, 140}) {
      PlanRequest request = all;
      request.budget_bytes = bytes * percent / 100;
      Planning planning{
          .variants = variants, .searches = searches, .request = request, .policy = policy, .sub_batches = sizes};
      const Found unlimited = Recipe(planning, policy).unlimited(batch).value();
      planning.budget_bytes = find_budget(planning, unlimited).value();
      REQUIRE(set_limits(planning, unlimited).ok());
      const Asked asked{planning, unlimited, find_minimum(planning, unlimited).value()};
      for (const auto& [name, values] : kOptions) {
        CAPTURE(seed, percent, name);
        const Values now = values(asked);
        CHECK(std::includes(now.begin(), now.end(), smaller[name].begin(), smaller[name].end()));
        most[name] = std::max(most[name], now.size());
        smaller[name] = now;
      }
    }
  }
  for (const auto& [name, count] : most) {
    CAPTURE(name);
    CHECK(count > 0);
  }
  CHECK(most["graphs and orders"] > 1);
  CHECK(most["schedules of the frontier"] > 10);
}

}  // namespace
}  // namespace plimsoll
