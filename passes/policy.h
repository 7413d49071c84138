// A policy: a named recipe of what the passes are told. The table is in policies.h.
#pragma once

#include <string_view>

#include "compiler/ir/plan.h"
#include "compiler/support/status.h"

namespace plimsoll {

struct Context;

enum class OrderKind {
  depth_first,  // the graph's own order with every update as early as its gradient and readers allow
  low_peak,     // list scheduling that lowers the peak of live bytes
  best_of,      // the one of both whose peak is lower; depth_first when they are equal
};

enum class PlaceKind { best_of, best_fit, by_size, by_area, by_lifetime };

enum class AlgorithmKind {
  fitting,   // the fastest whose workspace fits beside what is live, under Context::live_limit
  smallest,  // the smallest workspace: "memory-optimal"
  fastest,   // "performance-optimal", whatever its workspace
};

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
  // The planner searches for whole plans, over sub-batches too, and takes another policy's where that is faster.
  bool searches = false;
};

}  // namespace plimsoll
