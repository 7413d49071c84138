// Start schedules of the search: checkpoints (checkpoint_starts.h), idle link time (linked.h), the optimum of chains
// (chain.h), everything kept, and everything evicted. Those near a limit are fitted to it, and the best one is
// improved.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "passes/search/archive.h"
#include "passes/search/checkpoint_starts.h"
#include "passes/search/linked.h"

namespace plimsoll::search {

// The minimum-memory schedule: every tensor that may be evicted is evicted right after use. If the host pool has no
// room for that, it is the best of a few schedules. In this case, and without copies, the search (frontier.h) may find
// a smaller one. Afterwards `bench` holds the evaluation of the result.
State minimum_schedule(Workbench& bench, const Means& means = {});

// The start schedules of one model. Constant once find() has run, so all segments share them.
class Starts {
 public:
  // `model` must outlive this. Evaluates the two ends: everything kept, and everything evicted.
  Starts(const Model& model, const Means& means, int64_t pool_limit);

  // Evaluates all others, on this number of threads. Their own memory and time decide which of them to fit to a limit.
  void find(const Deadline& deadline, int threads);
  bool complete() const { return complete_; }  // false: the deadline ended find() early

  const State& whole() const { return whole_; }  // everything kept
  const State& small() const { return small_; }  // the minimum-memory schedule
  int64_t least_bytes() const;                   // of the smallest possible start schedule, at most those of whole()
  const Archive& archive() const { return archive_; }
  bool pool_binds() const { return bench_.pool_binds; }

  // The best of several start schedules within `limit`; nullopt: none fits. After the first that fits, it tries more as
  // far as `work` allows. `last`: the result at the previous limit. Every schedule that fits is added to the archive.
  std::optional<State> best_within(Workbench& bench, Archive& archive, const State& last, int64_t limit,
                                   int64_t work) const;

 private:
  void evaluate_checkpoints(std::span<const Checkpoints> all, int threads);

  const Model& model_;
  const Means means_;
  Workbench bench_;
  const LinkedStarts linked_;
  Archive archive_;
  State whole_, small_;
  bool complete_ = true;
  bool chain_ = false;        // the archive has optimal answers
  std::vector<State> checkpointed_;  // fastest first
};

}  // namespace plimsoll::search
