#include "compiler/costs/pinned.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

class TwoWays final : public Costs {
 public:
  std::vector<AlgorithmCost> ways = {{.name = "fast", .workspace_bytes = 64, .seconds = 1},
                                     {.name = "small", .seconds = 2}};
  Status prepare(const TaskGraph&, int64_t) override { return {}; }
  std::span<const AlgorithmCost> algorithms(const Task&, int64_t) const override { return ways; }
};

}  // namespace

TEST_CASE("a pinned task has the algorithm of the other plan, and no other") {
  Plan other;
  const TaskId conv = other.tasks.push_back({.name = "conv"}), norm = other.tasks.push_back({.name = "norm"});
  other.steps.push_back({.task = conv, .algorithm = "small"});
  other.steps.push_back({.task = conv, .recompute = true, .algorithm = "fast"});
  other.steps.push_back({.task = norm, .algorithm = "gone"});
  const AlgorithmPins pins = algorithms_of(other);
  CHECK(pins == AlgorithmPins{{"conv", "small"}, {"norm", "gone"}});

  const std::unique_ptr<Costs> costs = pinned(std::make_unique<TwoWays>(), pins);
  REQUIRE(costs->algorithms({.name = "conv"}, 4).size() == 1);
  CHECK(costs->algorithms({.name = "conv"}, 4).front().name == "small");
  CHECK(costs->algorithms({.name = "norm"}, 4).size() == 2);    // its algorithm is not offered here
  CHECK(costs->algorithms({.name = "another"}, 4).size() == 2);  // the other plan has no such task

  Plan plan = other;
  CHECK(pins_not_kept(plan, pins).empty());
  plan.steps[StepId(2)].algorithm = "fast";
  CHECK(pins_not_kept(plan, pins) == std::vector<std::string>{"norm"});
}
