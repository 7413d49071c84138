// Task graphs as training makes them, at random, and costs for them: the fuel of property tests. Same seed, same graph.
#pragma once

#include <cstdint>
#include <map>
#include <ranges>
#include <string>
#include <vector>

#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"

namespace plimsoll {

struct RandomGraphOptions {
  int layers = 12;
  int64_t batch = 6;
};

// A forward graph with fan-out, joins, skips and tasks of two outputs; permissions to work in place; stashes, statistics,
// weights of one or of several layers, frozen ones; a loss; backward tasks in reverse with sums where gradients meet; an
// update per trained weight, some with optimizer state. Sizes are of no round numbers.
TaskGraph random_graph(uint64_t seed, const RandomGraphOptions& options = {});

// One to three algorithms a task, the faster with the larger workspace; drawn from the task's signature.
class RandomCosts : public Costs {
 public:
  explicit RandomCosts(uint64_t seed) : seed_(seed) {}
  Status prepare(const TaskGraph& graph, int64_t samples) override;
  std::span<const AlgorithmCost> algorithms(const Task& task, int64_t samples) const override;
  // Several buckets, of graphs as small as these.
  LinkRates links() const override { return {.ranks = {.bytes_per_second = 1e9, .latency_seconds = 1e-7, .staging_bytes = 1024}}; }

 private:
  uint64_t seed_;
  std::map<std::string, std::vector<AlgorithmCost>> known_;  // by signature
};

// The same for several ranks: as much for each of them.
TaskGraph shared(TaskGraph graph, uint64_t ranks);

// So many seeds for a property test: from 0, or from $PLIMSOLL_FIRST_SEED, for runs on other graphs than those of every day.
std::ranges::iota_view<uint64_t, uint64_t> seeds(uint64_t count);

}  // namespace plimsoll
