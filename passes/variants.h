// Per-sub-batch caches shared by all plans of one task graph: task costs, ordered models and bounds.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <tuple>
#include <vector>

#include "passes/candidate.h"
#include "passes/search/bound.h"

namespace plimsoll {

// A candidate in a policy's order. All searches and bounds share it: the model of a deep network takes seconds and tens
// of megabytes. Any thread may use it.
class Ordered {
 public:
  // `candidate` must outlive this.
  Ordered(const Candidate& candidate, const Policy& policy, int threads)
      : candidate(candidate),
        model(ordered_model(candidate, policy, threads)),
        bound_bytes(search::bound_bytes(model)) {}

  const Candidate& candidate;
  const schedule::Model model;
  // Lower bound in bytes for every plan in this order with its weights on the device.
  const int64_t bound_bytes;
  // Lower bound in seconds for every plan in this order within `limit` bytes (search/bound.h).
  double bound_seconds(int64_t limit) {
    const std::lock_guard lock(mutex_);
    if (!bound_) bound_.emplace(model);
    return bound_->seconds(limit);
  }

 private:
  std::mutex mutex_;
  std::optional<search::Bound> bound_ = {};  // guarded by mutex_
};

class Variants {
 public:
  // `costs` must outlive this.
  Variants(TaskGraph graph, Costs& costs, int64_t batch);
  Variants(const Variants&) = delete;
  Variants& operator=(const Variants&) = delete;

  // For work that a request needs before its search begins.
  void use_threads(int threads) { threads_ = threads; }
  int64_t batch() const { return batch_; }
  const TaskGraph& graph() const { return graph_; }
  // Moves the graph out. No other member may be called afterwards.
  TaskGraph take_graph() { return std::move(graph_); }
  // Some task computes over all samples of a round, so several rounds would train something else.
  bool mixes_samples() const;
  // Several rounds would give wrong results (why_batch_is_whole()).
  bool of_whole_batch() const;

  // The same caches for a graph in which large weights are updated slice by slice (sliced() in
  // compiler/ir/task_graph.h). `whole_weights`: only the optimizer state is in slices. Null: no weight is large.
  Variants* in_slices(bool whole_weights);

  // The accumulating graph for more than one round. The reference stays valid.
  const TaskGraph& graph_for(int64_t sub_batch);
  Result<const Candidate*> candidate(int64_t sub_batch);
  // Makes what plans of the whole batch begin with (seed_plan.h). It needs no costs, so another thread may do this
  // during candidate().
  void prepare_seed() const;
  // Announces that candidate() will be called for these sub-batches (Costs::expect).
  Status expect(std::span<const int64_t> sub_batches);
  Result<Ordered*> ordered(int64_t sub_batch, const Policy& policy);
  // True if a new sub-batch may need measurements. Time mostly falls as the sub-batch grows, so the search then stops
  // at the first sub-batch that is too slow.
  bool measures() const { return costs_.measures(); }
  // Cached lower bounds on a policy's plan within a limit. They come from its steps alone, or from an attempt that
  // stopped early. Only for policies that do not search.
  Result<LowerBounds*> known_of(const Policy& policy, int64_t sub_batch, int64_t live_limit);

 private:
  TaskGraph graph_;
  Costs& costs_;
  const int64_t batch_;
  int threads_ = 1;
  std::recursive_mutex mutex_;  // guards lazy creation of every cache below
  std::optional<TaskGraph> accumulating_;
  const std::shared_ptr<LastSeed> seed_ = std::make_shared<LastSeed>();
  const std::shared_ptr<placement::LastSolutions> placements_ = std::make_shared<placement::LastSolutions>();
  std::unique_ptr<Variants> in_slices_, state_in_slices_;
  std::map<int64_t, Candidate> candidates_;
  struct OrderedOnce {
    std::once_flag made;
    std::optional<Ordered> ordered;
  };
  // By sub-batch and the properties of a policy that a model depends on: its order, whether it searches, whether tasks
  // work in place.
  std::map<std::tuple<int64_t, OrderKind, bool, bool>, OrderedOnce> ordered_;
  std::map<std::tuple<std::string_view, int64_t, int64_t>, LowerBounds> known_;
};

// The sum of the fastest times of all tasks: a lower bound for any plan of this sub-batch.
double ideal_seconds(const Candidate& candidate);

// For each number of rounds from two on, the smallest sub-batch that needs no more rounds, fewest rounds first. For
// batches of thousands, sub-batches of many rounds hardly differ, so only some are returned: a few hundred at most.
std::vector<int64_t> even_sub_batches(int64_t batch);

// Sub-batches worth a search: the whole batch, then even splits with clearly more rounds each.
std::vector<int64_t> worthwhile_sub_batches(int64_t batch);

}  // namespace plimsoll
