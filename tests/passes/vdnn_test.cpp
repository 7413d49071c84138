// vDNN's schedules on small, readable networks, and their properties on arbitrary ones.
#include <catch2/catch.hpp>

#include <algorithm>

#include "compiler/ir/task_graph_text.h"
#include "passes/candidate.h"
#include "passes/policies.h"
#include "tests/make_plan.h"
#include "tests/passes/fixture.h"

using namespace plimsoll;
using plimsoll::test::FakeCosts;

namespace {

//   x ─ conv1 ─ pool1 ─ conv2 ─ pool2 ─ fc ─ loss       every backward but fc's reads X, the pools' Y too
TaskGraph network() {
  const Result<TaskGraph> graph = graph_from_text(R"(graph cnn v1 batch=4
tensor %w1 weight f32[8,3,3,3] persistent
tensor %w2 weight f32[8,8,3,3] persistent
tensor %w3 weight f32[32,10] persistent
tensor %x input f32[N,3,16,16]
tensor %labels input i64[N]
tensor %conv1.Y activation f32[N,8,16,16]
tensor %pool1.Y activation f32[N,8,8,8]
tensor %conv2.Y activation f32[N,8,8,8]
tensor %pool2.Y activation f32[N,8,2,2]
tensor %fc.Y activation f32[N,10]
tensor %loss activation f32[1]
tensor %fc.dY activation_gradient f32[N,10]
tensor %pool2.dY activation_gradient f32[N,8,2,2]
tensor %conv2.dY activation_gradient f32[N,8,8,8]
tensor %pool1.dY activation_gradient f32[N,8,8,8]
tensor %conv1.dY activation_gradient f32[N,8,16,16]
tensor %dw3 weight_gradient f32[32,10]
tensor %dw2 weight_gradient f32[8,8,3,3]
tensor %dw1 weight_gradient f32[8,3,3,3]
task conv1.forward Conv forward layer=conv1 Test{} read %x read %w1 write %conv1.Y flops=110592N
task pool1.forward Pool forward layer=pool1 Test{} read %conv1.Y write %pool1.Y flops=512N
task conv2.forward Conv forward layer=conv2 Test{} read %pool1.Y read %w2 write %conv2.Y flops=73728N
task pool2.forward Pool forward layer=pool2 Test{} read %conv2.Y write %pool2.Y flops=32N
task fc.forward Gemm forward layer=fc Test{} read %pool2.Y as f32[N,32] read %w3 write %fc.Y flops=640N
task loss.loss Loss loss layer=loss Test{} read %fc.Y read %labels write %loss write %fc.dY
task fc.weights Gemm backward_weights layer=fc Test{} read %pool2.Y as f32[N,32] read %fc.dY write %dw3
task fc.data Gemm backward_data layer=fc Test{} read %w3 read %fc.dY write %pool2.dY
task w3.update Sgd update layer=fc Test{} update %w3 read %dw3
task pool2.data Pool backward_data layer=pool2 Test{} read %conv2.Y read %pool2.Y read %pool2.dY write %conv2.dY
task conv2.weights Conv backward_weights layer=conv2 Test{} read %pool1.Y read %conv2.dY write %dw2
task conv2.data Conv backward_data layer=conv2 Test{} read %w2 read %conv2.dY write %pool1.dY
task w2.update Sgd update layer=conv2 Test{} update %w2 read %dw2
task pool1.data Pool backward_data layer=pool1 Test{} read %conv1.Y read %pool1.Y read %pool1.dY write %conv1.dY
task conv1.weights Conv backward_weights layer=conv1 Test{} read %x read %conv1.dY write %dw1
task w1.update Sgd update layer=conv1 Test{} update %w1 read %dw1
input %x
input %labels
loss %loss
output %fc.Y
)");
  if (!graph.ok()) FAIL(graph.error().message);
  return *graph;
}

std::string name_of(const Plan& plan, StepId id) {
  const Step& step = plan.steps[id];
  switch (step.kind) {
    case StepKind::compute: return plan.tasks[step.task].name;
    case StepKind::offload: return "offload " + plan.tensors[step.tensor].name;
    case StepKind::prefetch: return "prefetch " + plan.tensors[step.tensor].name;
    case StepKind::load: return "load " + plan.tensors[step.tensor].name;
    case StepKind::reduce: return "reduce " + plan.tensors[step.tensor].name;
  }
  return {};
}

// The schedule that the policy returns: steps and barriers.
std::vector<std::string> schedule_of(const std::string& policy, int64_t limit = kNoLimit) {
  const TaskGraph graph = network();
  FakeCosts costs;
  const auto candidate = make_candidate(graph, costs, 4, 4);
  REQUIRE(candidate.ok());
  std::vector<std::string> lines;
  const auto plan =
      plan_within(*candidate, *find_policy(policy), limit, [&](std::string_view pass, const Plan& now, double) {
        if (pass != "schedule") return true;
        for (const StepId id : ids_of(now.steps)) {
          std::string line = name_of(now, id);
          for (const StepId wait : now.steps[id].waits) line += " | " + name_of(now, wait);
          lines.push_back(line);
        }
        return true;
      });
  REQUIRE(plan.ok());
  Plan judged = *plan;
  judged.budget_bytes = judged.summary.arena_bytes;
  CHECK(plimsoll::test::flaw(judged, graph) == "");
  return lines;
}

int64_t offloaded(const std::string& policy) {
  const TaskGraph graph = network();
  FakeCosts costs;
  const auto plan = make_plan(graph, costs, {.policy = policy, .batch = 4});
  REQUIRE(plan.ok());
  return plan->summary.offloaded_bytes;
}

}  // namespace

TEST_CASE("vDNN offloads while a layer runs, prefetches a layer ahead, and ends every layer with a barrier") {
  const std::vector<std::string> expected = {
      "load x",
      "load labels",
      "conv1.forward",
      "offload conv1.Y | conv1.forward",
      "pool1.forward",
      "offload pool1.Y | pool1.forward",
      "conv2.forward | offload conv1.Y",
      "offload conv2.Y | conv2.forward",
      "pool2.forward | offload pool1.Y",
      "fc.forward | offload conv2.Y",
      "loss.loss",
      "prefetch conv2.Y | loss.loss",  // figure 10: fc's window extends past pool2, whose X is off the device
      "fc.weights",
      "fc.data",
      "w3.update",
      "prefetch pool1.Y | w3.update",  // pool2's window ends at conv2
      "pool2.data | prefetch conv2.Y",
      "prefetch conv1.Y | pool2.data",
      "conv2.weights | prefetch pool1.Y",
      "conv2.data",
      "w2.update",
      "load x | w2.update",
      "pool1.data | prefetch conv1.Y",
      "conv1.weights | load x",
      "w1.update"};
  CHECK(schedule_of("vdnn-all:m") == expected);
  CHECK(schedule_of("vdnn-all:p") == expected);
}

TEST_CASE("vDNN_conv leaves the inputs of pools, and a CONV that never left ends the window") {
  const std::vector<std::string> lines = schedule_of("vdnn-conv:m");
  CHECK(std::count_if(lines.begin(), lines.end(),
                      [](const std::string& line) { return line.rfind("offload", 0) == 0; }) == 1);
  CHECK(std::find(lines.begin(), lines.end(), "offload pool1.Y | pool1.forward") != lines.end());
  CHECK(std::find(lines.begin(), lines.end(), "prefetch pool1.Y | loss.loss") != lines.end());
  const int64_t maps = 4 * 8 * 4;
  CHECK(offloaded("vdnn-conv:p") == maps * 64);
  CHECK(offloaded("vdnn-all:p") == maps * (256 + 64 + 64));
}

TEST_CASE("vDNN_dyn offloads no more than the limit asks for") {
  const auto copies = [](int64_t limit) {
    const auto lines = schedule_of("vdnn-dyn", limit);
    return std::count_if(lines.begin(), lines.end(),
                         [](const std::string& line) { return line.rfind("offload", 0) == 0; });
  };
  const auto peak = [](const std::string& policy) {
    const TaskGraph graph = network();
    FakeCosts costs;
    const auto plan = make_plan(graph, costs, {.policy = policy, .batch = 4});
    REQUIRE(plan.ok());
    return plan->summary.live_bytes + 4096;  // the limit counts aligned bytes
  };
  CHECK(copies(kNoLimit) == 0);
  CHECK(copies(peak("vdnn-conv:p")) <= 1);
  CHECK(copies(peak("vdnn-all:p")) <= 3);
  CHECK(copies(peak("vdnn-dyn")) == 0);
}
