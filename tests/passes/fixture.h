// Small hand-made task graphs, artificial costs, and the plan checker as oracle.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll::test {

// Tensors of one dimension: `per_sample` elements of four bytes, times the batch.
class GraphMaker {
 public:
  GraphMaker() { graph_.name = "test"; }
  TensorId tensor(const std::string& name, TensorKind kind, int64_t per_sample, bool persistent = false);
  TensorId activation(const std::string& name, int64_t per_sample) {
    return tensor(name, TensorKind::activation, per_sample);
  }
  // Independent of the batch.
  TensorId weight(const std::string& name, int64_t elements);
  TensorId gradient(const std::string& name, int64_t elements);

  TaskId task(const std::string& name, TaskKind kind, std::vector<TensorId> reads, std::vector<TensorId> writes,
              std::vector<TensorId> updates = {}, std::vector<Task::InPlace> in_place = {});

  TaskGraph graph_;

 private:
  Operand operand(TensorId tensor, Access access) const { return {tensor, access, graph_.tensors[tensor].type}; }
};

// x → (conv → relu) · layers → loss, with the backward tasks of training and an update per weight.
TaskGraph chain(int layers, int64_t per_sample = 1024, int64_t weight = 256);

// Random forward tasks with fan-out and skips, then a backward task for each; a valid training graph.
TaskGraph random_graph(unsigned seed, int tasks);

// Costs by task name; "bn again" are the costs of recomputing a task that saves tensors. All other tasks take a
// millisecond and no workspace. Workspaces are per sample.
class FakeCosts : public Costs {
 public:
  std::map<std::string, std::vector<AlgorithmCost>> special = {};
  std::vector<int64_t> prepared = {};
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;

 private:
  std::map<std::pair<std::string, int64_t>, std::vector<AlgorithmCost>> known_;
};

// The checker's violations; empty for a valid plan.
std::string flaw(const Plan& plan, const TaskGraph& graph);

}  // namespace plimsoll::test
