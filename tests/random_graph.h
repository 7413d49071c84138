// Random task graphs of the form that training has, and random costs, for property tests. The same seed gives the same
// graph.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

struct RandomGraphOptions {
  int layers = 12;
  int64_t batch = 6;
  // As `--precision bf16` makes it: most activations and their gradients in bf16, weights in f32, and a copy of a
  // weight in bf16, which is an activation without a batch that a task of the forward part writes. The gradient of a
  // weight is in bf16 if only one task computes it.
  bool mixed = false;
};

// The forward part has fan-out, joins, skip connections, tasks with two outputs, tasks that may run in place, tensors
// saved for backward, statistics, and weights: frozen ones, and ones that several layers share. A loss follows. The
// backward tasks are in reverse order and add up gradients of shared tensors. Every trained weight has an update, some
// with optimizer state. Sizes are no round numbers.
TaskGraph random_graph(uint64_t seed, const RandomGraphOptions& options = {});

// One to three algorithms for each task, drawn from its signature. A faster one has a larger workspace.
class RandomCosts : public Costs {
 public:
  explicit RandomCosts(uint64_t seed) : seed_(seed) {}
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;
  // Small staging buffers, so that graphs as small as these have several buckets.
  LinkRates links() const override {
    return {.ranks = {.bytes_per_second = 1e9, .latency_seconds = 1e-7, .staging_bytes = 1024}};
  }

 private:
  uint64_t seed_;
  std::map<std::string, std::vector<AlgorithmCost>> known_;  // by signature
};

// The graph planned for several ranks; each rank has the same samples per round as before. Gradients are in f32 then.
TaskGraph shared(TaskGraph graph, uint64_t ranks);

// `count` seeds for a property test, from 0. $PLIMSOLL_FIRST_SEED sets another first seed, to test other graphs.
std::vector<uint64_t> seeds(uint64_t count);

}  // namespace plimsoll
