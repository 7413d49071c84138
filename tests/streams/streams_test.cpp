// Plans with offloads, prefetches and recomputations at random places do what the plan without them does, to the bit.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <optional>

#include "compiler/check/check.h"
#include "passes/policies.h"
#include "player.h"
#include "runtime/backend.h"
#include "scatter.h"

using namespace plimsoll;
using namespace plimsoll::test;

namespace {

Plan plan_of(Network& network, ScatterOptions options) {
  options.batch = network.batch;
  options.sub_batch = network.sub_batch;
  Result<Plan> plan = scattered_plan(network.graph, *network.costs, options);
  if (!plan.ok()) FAIL(plan.error().message);
  CHECK(to_string(check_plan(*plan)) == "");
  CHECK(to_string(check_against_graph(*plan, network.graph)) == "");
  return *plan;
}

Played played(const Network& network, const Plan& plan, const std::string& spill) {
  return play(network, plan, plan.residencies, 3, spill);
}

struct Case {
  const char* spec;
  int64_t batch, sub_batch;
  bool in_bf16 = false;
};

}  // namespace

TEST_CASE("offloaded, prefetched and recomputed values are the same values") {
  const Case each = GENERATE(Case{"resnet18:input=16,stem=cifar,width=16,classes=10", 4, 4},
                             Case{"resnet18:input=16,stem=cifar,width=16,classes=10", 5, 2},
                             Case{"googlenet:input=64,classes=10,paper=1", 2, 2},
                             Case{"densenet121:input=16,stem=cifar,growth=16,classes=10", 3, 2},
                             Case{"lstm:steps=6,features=8,hidden=16,classes=5,layers=2", 4, 4},
                             Case{"lstm:steps=6,features=8,hidden=16,classes=5", 5, 3},
                             Case{"unet:input=32,width=16,depth=2", 2, 1},
                             Case{"vgg11:input=32,width=16,hidden=256,classes=10", 2, 2},
                             Case{"resnet18:input=16,stem=cifar,width=16,classes=10", 5, 2, true},
                             Case{"lstm:steps=6,features=8,hidden=16,classes=5", 5, 3, true});
  CAPTURE(each.spec, each.batch, each.sub_batch);
  Result<Network> made = make_network(each.spec, each.batch, each.sub_batch, each.in_bf16);
  if (!made.ok()) FAIL(made.error().message);
  Network& network = *made;
  const Played kept = played(network, plan_of(network, {}), "");
  REQUIRE(!kept.persistent.empty());
  REQUIRE(
      std::all_of(kept.persistent.begin(), kept.persistent.end(), [](float value) { return std::isfinite(value); }));
  CHECK(kept.losses[0] != kept.losses[2]);

  const std::string directory = std::filesystem::temp_directory_path().string();
  const ScatterOptions all[] = {{.seed = 1, .offload = 100},
                                {.seed = 2, .recompute = 100},
                                {.seed = 3, .offload = 40, .recompute = 40},
                                {.seed = 4, .offload = 50, .recompute = 50, .shortest_gap = 1},
                                {.seed = 5, .offload = 30, .recompute = 20},
                                {.seed = 6, .homes = 100},
                                {.seed = 7, .offload = 50, .recompute = 30, .homes = 60}};
  for (const ScatterOptions& options : all) {
    CAPTURE(options.seed);
    const Plan plan = plan_of(network, options);
    CHECK(plan.summary.recomputed_tasks + plan.summary.offloaded_bytes > 0);
    const std::string spill = options.seed % 2 ? "" : directory;
    CHECK(played(network, plan, spill) == kept);
    if (options.seed == 3) CHECK(played(network, plan, directory) == kept);
  }
}

namespace {

// With the algorithms of the first plan: where there are several, a budget may choose among them, and they round
// otherwise.
void expect_same_bits(const Case& each) {
  CAPTURE(each.spec);
  const std::string directory = std::filesystem::temp_directory_path().string();
  AlgorithmPins pins;
  std::optional<Played> first;
  int64_t moved = 0, again = 0, homes = 0, plans = 0;
  const auto try_out = [&](const std::string& policy, int64_t percent) {
    CAPTURE(policy, percent);
    Result<Network> network = make_network(each.spec, each.batch, each.batch, each.in_bf16);
    if (!network.ok()) FAIL(network.error().message);
    const Result<Plan> plan = plan_of_policy(*network, policy, each.sub_batch, percent, pins);
    if (!plan.ok()) FAIL(plan.error().message);
    CHECK(to_string(check_plan(*plan)) == "");
    if (pins.empty()) pins = algorithms_of(*plan);
    CHECK(pins_not_kept(*plan, pins).empty());
    const Played got = played(*network, *plan, ++plans % 2 ? directory : "");
    if (!first) first = got;
    const Played& other = *first;
    CHECK(got.losses == other.losses);
    CHECK(got.evaluation == other.evaluation);
    REQUIRE(got.persistent.size() == other.persistent.size());
    const auto differs = std::mismatch(got.persistent.begin(), got.persistent.end(), other.persistent.begin()).first -
                         got.persistent.begin();
    CHECK(differs == static_cast<std::ptrdiff_t>(got.persistent.size()));  // the first value that differs
    moved += plan->summary.offloaded_bytes;
    again += plan->summary.recomputed_tasks;
    homes += std::count_if(plan->tensors.begin(), plan->tensors.end(),
                           [](const PlanTensor& tensor) { return tensor.at_home_on_host(); });
  };
  try_out("liveness", 100);
  for (const int64_t percent : {0, 5, 15, 30, 50, 75}) try_out("auto", percent);
  for (const Policy& policy : all_policies()) try_out(std::string(policy.name), 0);
  CHECK(moved > 0);
  CHECK(again > 0);
  CHECK(homes > 0);
  const Played& one = *first;
  CHECK(std::all_of(one.persistent.begin(), one.persistent.end(), [](float value) { return std::isfinite(value); }));
  CHECK(one.losses[0] != one.losses[2]);
}

}  // namespace

TEST_CASE("six budgets and the least of every policy give the same bits: ResNet-18") {
  expect_same_bits({"resnet18:input=16,stem=cifar,width=16,classes=10", 4, 4});
}
TEST_CASE("six budgets and the least of every policy give the same bits: GoogLeNet in rounds") {
  expect_same_bits({"googlenet:input=32,classes=10", 3, 2});
}
TEST_CASE("six budgets and the least of every policy give the same bits: DenseNet") {
  expect_same_bits({"densenet121:input=16,stem=cifar,growth=16,classes=10", 3, 3});
}
TEST_CASE("six budgets and the least of every policy give the same bits: LSTM in rounds") {
  expect_same_bits({"lstm:steps=6,features=8,hidden=16,classes=5,layers=2", 5, 2});
}
TEST_CASE("six budgets and the least of every policy give the same bits: ResNet-18 in bf16") {
  expect_same_bits({"resnet18:input=16,stem=cifar,width=16,classes=10", 4, 4, true});
}
TEST_CASE("six budgets and the least of every policy give the same bits: LSTM in bf16, in rounds") {
  expect_same_bits({"lstm:steps=4,features=8,hidden=16,classes=5", 5, 2, true});
}

TEST_CASE("a host pool keeps what it was given, in memory and in a file, and says when there is no room") {
  const std::string directory = GENERATE(std::string(), std::filesystem::temp_directory_path().string());
  const backend::HostPool pool(1 << 20, directory);
  const std::byte out[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::byte in[3] = {};
  pool.store((1 << 20) - 3, out, 3);
  pool.fetch((1 << 20) - 3, in, 3);
  CHECK(std::equal(in, in + 3, out));
  CHECK_THROWS_AS(backend::HostPool(1 << 20, "/no/such/directory"), backend::HostPoolError);
  CHECK_THROWS_AS(backend::HostPool(int64_t{1} << 60, std::filesystem::temp_directory_path().string()),
                  backend::HostPoolError);
}
