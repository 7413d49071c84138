// A policy: a named recipe of options for the passes. The table is in policies.h.
#pragma once

#include <functional>
#include <string_view>

#include "compiler/ir/plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct Candidate;
struct Context;

enum class OrderKind {
  depth_first,  // the graph's order, with every update as early as its gradient and its readers allow
  low_peak,     // list scheduling that lowers the peak of live bytes
  best_of,      // whichever of the two has the lower peak; depth_first on a tie
  arrivals,     // Dymem's Algorithm 1: a task runs when its last predecessor arrives; the backward in reverse
};

enum class PlaceKind {
  best_of, best_fit, by_size, by_area, by_lifetime,
  in_turn, by_mobility,  // as published systems place during training (place/online.h)
};

enum class AlgorithmKind {
  fitting,   // the fastest whose workspace fits with the live tensors, under Context::live_limit
  smallest,  // the smallest workspace: "memory-optimal"
  fastest,   // "performance-optimal", regardless of workspace
};

// Returns the candidate for a sub-batch, with its costs (passes/candidate.h).
using CandidateOf = std::function<Result<const Candidate*>(int64_t sub_batch)>;

struct Policy {
  std::string_view name = {};
  std::string_view summary = {};
  OrderKind order = OrderKind::best_of;
  PlaceKind place = PlaceKind::best_of;
  AlgorithmKind algorithms = AlgorithmKind::fitting;
  bool share_memory = true;  // false: every tensor has its own bytes for the whole round (network-wide)
  bool in_place = true;
  // Decides what is offloaded and what is recomputed. It rewrites plan.steps, which come as `order` left them, with the
  // functions of schedule/lower.h. Context::live_limit is the limit in bytes; 0 asks for minimum memory. Waits that it
  // sets are kept. Null: every tensor stays on the device.
  Status (*schedule)(Plan& plan, const Context& context) = nullptr;
  // False: neither the policy nor the choice of algorithms depends on the limit. There is one plan per sub-batch.
  bool heeds_limit = true;
  // The planner searches whole plans, over sub-batches too, and takes another policy's plan if it is faster.
  bool searches = false;
  // Proposes a sub-batch when the whole batch does not fit the budget. The planner takes the largest even split up to
  // it that fits. Null: the planner considers all splits.
  Result<int64_t> (*sub_batch)(const CandidateOf& candidate, int64_t batch, int64_t budget) = nullptr;
};

}  // namespace plimsoll
