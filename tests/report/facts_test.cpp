#include "compiler/report/facts.h"

#include <catch2/catch.hpp>

#include "compiler/ir/plan_text.h"
#include "compiler/report/csv.h"
#include "compiler/report/explanation.h"
#include "tests/text_case.h"

using namespace plimsoll;

namespace {

Plan read(const std::string& text) {
  const auto plan = plan_from_text(text);
  if (!plan.ok()) FAIL(plan.error().message);
  return *plan;
}

// a.Y is offloaded and returns late: compute is idle from 3 to 8, the offload runs until 5, the prefetch from 5 to 8.
const std::string kWaiting = R"(plan waiting v1 batch=1 sub_batch=1 rounds=1 last=1
target host
policy test rules=true
budget 4096
tensor %x input 256
tensor %a.Y activation 512
tensor %b.Y activation 512
tensor %b.dY activation_gradient 512
task a.forward Conv forward layer=a read %x write %a.Y
task b.forward Conv forward layer=b read %a.Y write %b.Y
task b.backward Conv backward layer=b read %b.Y write %b.dY
task a.backward Conv backward_weights layer=a read %a.Y %b.dY
h2d      load:x -> %x@0x0 time=0:1
compute  a.forward -> %a.Y@0x100 time=1:2 after load:x
compute  b.forward -> %b.Y@0x400 time=2:3
d2h      offload:a.Y host@0x0 time=2:5 after a.forward
h2d      prefetch:a.Y host@0x0 -> %a.Y@0x100 time=5:8 after offload:a.Y
compute  b.backward -> %b.dY@0x800 time=3:3.5
compute  a.backward time=8:9 after prefetch:a.Y
)";

}  // namespace

TEST_CASE("the time that compute idles is charged to the copies that it waits for, back along their own waits") {
  const Plan plan = read(kWaiting);
  const PlanFacts facts = facts_of(plan);
  CHECK(facts.exposed[StepId(0)] == Approx(1));    // the load, at the beginning
  CHECK(facts.exposed[StepId(3)] == Approx(1.5));  // the offload, from 3.5 to 5
  CHECK(facts.exposed[StepId(4)] == Approx(3));    // the prefetch, from 5 to 8
  double sum = 0;
  for (const double seconds : facts.exposed) sum += seconds;
  CHECK(sum == Approx(9 - 3.5));  // the round's time beyond its tasks
  CHECK(facts.layers[0].waiting == Approx(4.5));
}

TEST_CASE("a copy that ends the round is waited for as well") {
  Plan plan = read(kWaiting);
  plan.steps[StepId(4)].end = 11;
  plan.steps[StepId(6)].start = 3.5;
  plan.steps[StepId(6)].end = 4.5;
  plan.steps[StepId(6)].waits.clear();
  const PlanFacts facts = facts_of(plan);
  CHECK(facts.round_seconds == 11);
  CHECK(facts.exposed[StepId(4)] == Approx(6));
}

TEST_CASE("a peak at a step that the plan does not have is no peak, however large its number") {
  Plan plan = read(kWaiting);
  for (const int64_t step : {int64_t{-1}, static_cast<int64_t>(plan.steps.size()), int64_t{1} << 32}) {
    plan.summary.peak_step = step;
    CHECK(!peak_of(plan).valid());
  }
}

TEST_CASE("fates are of tensors with a gap") {
  const Plan plan = read(kWaiting);
  const PlanFacts facts = facts_of(plan);
  CHECK(facts.tensors[TensorId(0)].fate == Fate::none);
  CHECK(facts.tensors[TensorId(1)].fate == Fate::offload);
  CHECK(facts.tensors[TensorId(1)].gap_from == StepId(2));
  CHECK(facts.tensors[TensorId(1)].gap_to == StepId(6));
  CHECK(facts.tensors[TensorId(2)].fate == Fate::keep);
  CHECK(facts.tensors[TensorId(3)].fate == Fate::none);
  CHECK(facts.layers[0].offloaded == 512);
  CHECK(facts.layers[1].kept == 512);
}

TEST_CASE("live bytes by step are what the checker counts, and never below what the step needs") {
  for (const auto& entry : std::filesystem::directory_iterator(std::filesystem::path(PLIMSOLL_TEST_DIR) / "cases")) {
    if (entry.path().extension() != ".test") continue;
    INFO(entry.path().string());
    const Plan plan = read(read_text_case(entry.path()).input("plan"));
    const PlanFacts facts = facts_of(plan);
    CHECK(facts.live[StepId(plan.summary.peak_step)] == plan.summary.live_bytes);
    for (const StepId id : ids_of(plan.steps)) {
      CHECK(facts.live[id] <= plan.summary.live_bytes);
      CHECK(facts.floor[id] <= facts.live[id]);
    }
  }
}

TEST_CASE("by the clock, what is live ends as it began: with what persists") {
  const Plan plan = read(kWaiting);
  const std::vector<MemoryPoint> points = memory_over_time(plan, facts_of(plan));
  REQUIRE(points.size() > 3);
  CHECK(points.front().bytes == 256);  // the input, while it is loaded
  CHECK(points.back().seconds == 9);
  CHECK(points.back().bytes == 0);
  for (size_t i = 1; i < points.size(); ++i) CHECK(points[i - 1].seconds < points[i].seconds);
}

TEST_CASE("names that are near: parts first, then the fewest letters apart") {
  const std::vector<std::string> names = {"conv1", "conv2", "layer1.conv1", "fc", "convl"};
  CHECK(nearest_names("conv1", names, 3) == std::vector<std::string>{"conv1", "layer1.conv1", "conv2"});
  CHECK(nearest_names("fcc", names, 1) == std::vector<std::string>{"fc"});
  CHECK(nearest_names("x", {}, 3).empty());
}

TEST_CASE("fields of CSV are quoted where they must be") {
  CHECK(csv_field("conv1") == "conv1");
  CHECK(csv_field("a,b") == "\"a,b\"");
  CHECK(csv_field("say \"x\"\n") == "\"say \"\"x\"\"\n\"");
}
