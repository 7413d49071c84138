// Placement problems like those of plans, for tests and benchmarks.
//
//   layer i   forward: y_i from y_{i-1}, workspace;  backward: dw_i and its update, dy_{i-1} from dy_i, workspaces
//
//   plain      y_i lives until its layer's backward steps: nested lifetimes
//   recompute  of eight layers only the first y_i is kept; the rest is recomputed before their backward steps
//   offload    half of the y_i are offloaded after their forward use and prefetched some steps before their backward
//   use mixed      both tight      when a capacity is reached, the tensor needed last is evicted; it returns as soon as
//   there is room. Live
//              bytes are at the capacity nearly all the time, as in a plan under a tight budget
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "passes/place/problem.h"

namespace plimsoll::placement {

enum class Trace { plain, recompute, offload, mixed };
std::string_view to_string(Trace trace);

// A tensor with the steps that touch it, ascending.
struct Traced {
  std::string id = {};
  int64_t size = 0;
  std::vector<int64_t> touches = {};
};

// About four tensors per layer. Sizes are multiples of 256 and differ by a factor of up to a thousand.
std::vector<Traced> trace_tensors(int layers, uint64_t seed);

// Each tensor lives from its first touch to its last.
Problem make_plain(const std::vector<Traced>& tensors);

// As `tight` above: live bytes stay within `share` of the plain problem's bound, or within the bytes that one step
// touches.
Problem make_tight(const std::vector<Traced>& tensors, double share);

// Every tensor that is idle for long is evicted promptly and returns late. Tensors drawn at random stay, as many as fit
// within `share` of the plain problem's bound, as in a plan under a budget.
Problem make_planned(const std::vector<Traced>& tensors, double share, uint64_t seed);

// About 4 to 6 buffers per layer.
Problem make_trace(Trace trace, int layers, uint64_t seed);

}  // namespace plimsoll::placement
