#include "compiler/costs/needs.h"

#include <catch2/catch.hpp>

using namespace plimsoll;

namespace {

// "direct" needs a byte per sample. The recomputation of a task that saves tensors needs 7 bytes for any number of
// samples.
class NeedyCosts final : public Costs {
 public:
  std::vector<AlgorithmCost> four = {{.name = "direct", .workspace_bytes = 4}, {.name = "gemm", .workspace_bytes = 0}};
  std::vector<AlgorithmCost> three = {{.name = "direct", .workspace_bytes = 300},
                                      {.name = "gemm", .workspace_bytes = 0}};
  std::vector<AlgorithmCost> again = {{.name = "direct", .workspace_bytes = 7}};
  LinkRates rates = {};
  Status prepare(const TaskGraph&, int64_t) override { return {}; }
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override {
    if (task.name == "norm" && task.operands.front().access == Access::read) return again;
    return samples == 4 ? four : three;
  }
  LinkRates links() const override { return rates; }
};

}  // namespace

TEST_CASE("what algorithms need is noted from the costs, whatever the plan has") {
  TaskGraph graph;
  const TensorId saved = graph.tensors.push_back({.name = "saved"});
  const TaskId conv = graph.tasks.push_back({.name = "conv"}), norm = graph.tasks.push_back({.name = "norm"});
  graph.tasks[norm].operands.push_back({.tensor = saved, .access = Access::write});
  graph.tasks[norm].remembers = {saved};
  Plan plan{.sub_batch = 4, .last_sub_batch = 4};
  plan.tasks.push_back({.name = "conv"});
  plan.tasks.push_back({.name = "norm", .writes = {saved}, .remembers = {saved}});
  plan.steps.push_back({.task = conv, .algorithm = "direct"});
  plan.steps.push_back({.task = norm, .algorithm = "direct", .workspace = {0, 100}});
  plan.steps.push_back({.task = norm, .recompute = true, .algorithm = "direct"});
  plan.steps.push_back({.task = conv, .recompute = true, .algorithm = "direct"});
  NeedyCosts costs;
  note_needs(plan, graph, costs);
  CHECK(plan.needs[conv] == std::vector<WorkspaceNeed>{{"direct", 4}});
  CHECK(plan.needs[norm] == std::vector<WorkspaceNeed>{{"direct", 4}, {"direct", 7, true}});
  CHECK(plan.reduction_needs_bytes == 0);

  plan.last_sub_batch = 3;  // the last round needs more although it is smaller
  plan.steps[StepId(3)].algorithm = "gemm";
  note_needs(plan, graph, costs);
  CHECK(plan.needs[conv] == std::vector<WorkspaceNeed>{{"direct", 300}, {"gemm", 0}});

  plan.steps[StepId(0)].algorithm = "unheard of";
  note_needs(plan, graph, costs);
  CHECK(plan.needs[conv] == std::vector<WorkspaceNeed>{{"gemm", 0}});

  // With two ranks: half as many samples per rank.
  plan.ranks = 2;
  plan.sub_batch = plan.last_sub_batch = 8;
  plan.steps[StepId(0)].algorithm = "direct";
  note_needs(plan, graph, costs);
  CHECK(plan.needs[conv] == std::vector<WorkspaceNeed>{{"direct", 4}, {"gemm", 0}});
  CHECK(plan.reduction_needs_bytes == 16);
  costs.rates.ranks.staging_bytes = 0;  // the engine has its own
  note_needs(plan, graph, costs);
  CHECK(plan.reduction_needs_bytes == 0);
}
