// Offloads, prefetches and recomputations at random places of a plan, and weights, optimizer state and, with several
// rounds, gradients that live in the host pool: what trainers and their streams are tested on, whatever policies do or
// do not make of them.
#pragma once

#include <cstdint>

#include "compiler/ir/plan.h"
#include "compiler/ir/profile.h"
#include "compiler/ir/task_graph.h"
#include "compiler/support/status.h"

namespace plimsoll::test {

struct ScatterOptions {
  int64_t batch = 1, sub_batch = 1;
  uint64_t seed = 0;
  // Of each gap between two uses of a tensor, in percent: it is offloaded and prefetched there, or recomputed.
  int offload = 0, recompute = 0;
  int shortest_gap = 3;  // steps between the uses
  int homes = 0;         // of these, in percent: lives in the host pool
};

// A plan of `graph` (accumulating, with several rounds), through the passes that follow order, with the fastest
// algorithms.
Result<Plan> scattered_plan(const TaskGraph& graph, Costs& costs, const ScatterOptions& options);

}  // namespace plimsoll::test
