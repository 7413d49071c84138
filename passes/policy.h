// A policy: a named recipe of options for the passes. The table is in policies.h.
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string_view>

#include "compiler/support/status.h"
#include "passes/analysis/choices.h"

namespace plimsoll {

namespace schedule {
struct Model;
struct Program;
}

inline constexpr int64_t kNoLimit = std::numeric_limits<int64_t>::max();

enum class OrderKind {
  depth_first,  // the graph's order, with every update as early as its gradient and its readers allow
  low_peak,     // list scheduling that lowers the peak of live bytes
  best_of,      // whichever of the two has the lower peak; depth_first on a tie
  arrivals,     // Dymem's Algorithm 1: a task runs when its last predecessor arrives; the backward in reverse
};

enum class PlaceKind {
  best_of,               // solve() in place/solve.h
  in_turn, by_mobility,  // as published systems place during training: place_in_turn() there
};

enum class AlgorithmKind {
  fitting,   // the fastest whose workspace fits with the live tensors, under Context::live_limit
  smallest,  // the smallest workspace: "memory-optimal"
  fastest,   // "performance-optimal", regardless of workspace
};

// The inputs of Policy::schedule.
struct ScheduleRequest {
  const TaskGraph& graph;
  const schedule::Model& model;   // of the plan as the order pass leaves it
  int64_t samples = 0;            // of one rank, in a round
  int64_t live_limit = kNoLimit;  // bytes, as Context::live_limit
};

// The tasks of a sub-batch, and their costs.
struct SubBatchCosts {
  const TaskGraph& graph;
  const Choices& choices;
};
using CostsOf = std::function<Result<SubBatchCosts>(int64_t sub_batch)>;

struct Policy {
  std::string_view name = {};
  std::string_view summary = {};
  OrderKind order = OrderKind::depth_first;
  PlaceKind place = PlaceKind::best_of;
  AlgorithmKind algorithms = AlgorithmKind::fitting;
  bool share_memory = true;  // false: every tensor has its own bytes for the whole round (network-wide)
  bool in_place = true;
  // Decides what is offloaded and what is recomputed, and returns the steps, for example by schedule/lower.h. A live
  // limit of 0 means minimum memory. The plan keeps the waits that the schedule has. Null: every tensor stays on the
  // device.
  std::function<schedule::Program(const ScheduleRequest& request)> schedule = nullptr;
  // A schedule that a search has found. It replaces `schedule` (with_schedule() in candidate.h).
  std::shared_ptr<const schedule::Program> decided = nullptr;
  // Whether the schedule or the choice of algorithms depends on the live limit. If not, there is one plan per
  // sub-batch.
  bool depends_on_limit = true;
  // The planner searches whole plans, over sub-batches too, and takes another policy's plan if it is faster.
  bool searches = false;
  // Proposes a sub-batch when the whole batch does not fit the budget. The planner takes the largest even split up to
  // it that fits. Null: the planner considers all splits.
  Result<int64_t> (*sub_batch)(const CostsOf& costs, int64_t batch, int64_t budget) = nullptr;
};

}  // namespace plimsoll
