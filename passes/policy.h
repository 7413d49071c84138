// A policy: a named recipe of what the passes are told. The table is in policies.h.
#pragma once

#include <functional>
#include <string_view>

#include "compiler/ir/plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct Candidate;
struct Context;

enum class OrderKind {
  depth_first,  // the graph's own order with every update as early as its gradient and readers allow
  low_peak,     // list scheduling that lowers the peak of live bytes
  best_of,      // the one of both whose peak is lower; depth_first when they are equal
  arrivals,     // Dymem's Algorithm 1: a task when its last predecessor arrives, the backward in reverse
};

enum class PlaceKind {
  best_of, best_fit, by_size, by_area, by_lifetime,
  in_turn, by_mobility,  // as published systems do while they train (place/online.h)
};

enum class AlgorithmKind {
  fitting,   // the fastest whose workspace fits beside what is live, under Context::live_limit
  smallest,  // the smallest workspace: "memory-optimal"
  fastest,   // "performance-optimal", whatever its workspace
};

// A split of the batch with its costs (passes/candidate.h).
using CandidateOf = std::function<Result<const Candidate*>(int64_t sub_batch)>;

struct Policy {
  std::string_view name = {};
  std::string_view summary = {};
  OrderKind order = OrderKind::best_of;
  PlaceKind place = PlaceKind::best_of;
  AlgorithmKind algorithms = AlgorithmKind::fitting;
  bool share_memory = true;  // false: every tensor its own bytes for the whole round (network-wide)
  bool in_place = true;
  // Decides what leaves and what is run again: rewrites plan.steps, which come as `order` left them (schedule/weave.h has
  // the means). Context::live_limit says for how many bytes; 0: for as few as it can. Waits that it sets are kept.
  // Null: everything stays where it is.
  Status (*schedule)(Plan& plan, const Context& context) = nullptr;
  // False: the limit is nothing to it, nor to the choice of algorithms. There is one plan for each way to split the batch.
  bool heeds_limit = true;
  // The planner searches for whole plans, over sub-batches too, and takes another policy's where that is faster.
  bool searches = false;
  // Proposes a sub-batch for a budget that the whole batch does not meet; the planner takes the largest even split up to
  // it that does. Null: of all splits.
  Result<int64_t> (*sub_batch)(const CandidateOf& candidate, int64_t batch, int64_t budget) = nullptr;
};

}  // namespace plimsoll
