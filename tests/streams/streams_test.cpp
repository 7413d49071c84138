// Plans with offloads, prefetches and recomputations at random places do what the plan without them does, to the bit.
#include <catch2/catch.hpp>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "compiler/check/check.h"
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
                             Case{"alexnet:input=67,classes=10", 2, 2});
  CAPTURE(each.spec, each.batch, each.sub_batch);
  Result<Network> made = make_network(each.spec, each.batch, each.sub_batch);
  if (!made.ok()) FAIL(made.error().message);
  Network& network = *made;
  const Played kept = played(network, plan_of(network, {}), "");
  REQUIRE(!kept.persistent.empty());
  REQUIRE(std::all_of(kept.persistent.begin(), kept.persistent.end(), [](float value) { return std::isfinite(value); }));
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

TEST_CASE("a host pool keeps what it was given, in memory and in a file, and says when there is no room") {
  const std::string directory = GENERATE(std::string(), std::filesystem::temp_directory_path().string());
  const backend::HostPool pool(1 << 20, directory);
  const std::byte out[3] = {std::byte{1}, std::byte{2}, std::byte{3}};
  std::byte in[3] = {};
  pool.store((1 << 20) - 3, out, 3);
  pool.fetch((1 << 20) - 3, in, 3);
  CHECK(std::equal(in, in + 3, out));
  CHECK_THROWS_AS(backend::HostPool(1 << 20, "/no/such/directory"), backend::HostPoolError);
  CHECK_THROWS_AS(backend::HostPool(int64_t{1} << 60, std::filesystem::temp_directory_path().string()), backend::HostPoolError);
}
