// What is worked out once for all plans of a task graph: for each way of splitting its batch, what tasks cost, and the
// frontier of schedules where a policy searches for one.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "passes/candidate.h"
#include "passes/deadline.h"
#include "passes/joint.h"

namespace plimsoll {

class Splits {
 public:
  // `costs` must outlive this.
  Splits(TaskGraph graph, Costs& costs, int64_t batch) : graph_(std::move(graph)), costs_(costs), batch_(batch) {}
  Splits(const Splits&) = delete;
  Splits& operator=(const Splits&) = delete;

  int64_t batch() const { return batch_; }
  const TaskGraph& graph() const { return graph_; }
  // Some task computes over all samples of a round: with several rounds, something else is trained.
  bool mixes_samples() const;
  // And that would be wrong. The task, or null.
  const Task* of_whole_batch() const;

  // The same plans but for large weights, which are updated slice by slice (sliced() in compiler/ir/task_graph.h). Null: none is large.
  Splits* in_slices(bool whole_weights);

  // Accumulating, with more than one round. What is returned stays where it is.
  const TaskGraph& graph_for(int64_t sub_batch);
  Result<const Candidate*> candidate(int64_t sub_batch);
  // Time mostly falls with the sub-batch: where one is too slow and to look at smaller ones costs measurements, none is.
  bool measures() const { return costs_.measures(); }
  // No plan of this split in the policy's order that keeps `limit` takes less (search/bound.h).
  Result<double> bound_seconds(int64_t sub_batch, const Policy& policy, int64_t limit);
  // The same of the memory that any plan of this split in that order needs whose weights stay on the device.
  Result<int64_t> bound_bytes(int64_t sub_batch, const Policy& policy);
  // What is known of a policy's plan within a limit, by its steps alone or from a time when nobody wanted it: it takes and needs no
  // less. Of a policy that does not search.
  Result<Ceiling*> known_of(const Policy& policy, int64_t sub_batch, int64_t live_limit);
  // What has been searched is kept.
  Result<Joint*> joint(int64_t sub_batch, const Policy& policy, int effort, int64_t host_budget);
  // But what was given up before it was done. Before: nobody searches.
  void forget_unfinished();

 private:
  const TaskGraph graph_;
  Costs& costs_;
  const int64_t batch_;
  std::recursive_mutex looking_up_;  // whoever looks something up makes it, where it is not there yet
  std::optional<TaskGraph> accumulating_;
  std::unique_ptr<Splits> in_slices_, state_in_slices_;
  std::map<int64_t, Candidate> candidates_;
  struct Ordered {
    schedule::Model model;
    int64_t bound_bytes = 0;
    std::unique_ptr<search::Bound> bound = nullptr;  // made when it is asked for
  };
  Result<Ordered*> ordered(int64_t sub_batch, const Policy& policy);

  std::map<std::pair<int64_t, OrderKind>, Ordered> ordered_;  // by policies that do not search
  std::map<std::tuple<std::string_view, int64_t, int64_t>, Ceiling> known_;
  std::map<std::tuple<int64_t, OrderKind, int, int64_t>, std::unique_ptr<Joint>> joints_;
};

// Every task at its fastest, one after the other: no plan of this split takes less.
double ideal_seconds(const Candidate& candidate);

// The batch cut evenly into r rounds, for each r the smallest sub-batch that needs no more rounds; fewest rounds first. Of batches
// of thousands, whose splits into many rounds hardly differ, one of each few: there are hundreds at most, whatever the batch.
std::vector<int64_t> even_splits(int64_t batch);

// Sub-batches that are worth a search: the whole batch, and even splits with clearly more rounds each.
std::vector<int64_t> worthwhile_splits(int64_t batch);

}  // namespace plimsoll
