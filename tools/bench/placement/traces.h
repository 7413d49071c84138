// Placement problems of the kinds that plans make, for tests and benchmarks.
//
//   layer i   forward: y_i from y_{i-1}, workspace;  backward: dw_i and its update, dy_{i-1} from dy_i, workspaces
//
//   plain      y_i lives until its layer's backward steps: nested lifetimes
//   recompute  of eight layers only the first's y_i is kept; the rest is made again before the eight run backward
//   offload    half of the y_i leave after their forward use and come back some steps before their backward use
//   mixed      both
//   tight      what is needed last leaves when a capacity is reached and comes back as early as there is room, so that
//              live bytes are at the capacity nearly all the time: what a planner makes of a budget
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

// Some four tensors a layer. Sizes are multiples of 256 and differ by a factor of up to a thousand.
std::vector<Traced> trace_tensors(int layers, uint64_t seed);

// Each tensor lives from its first touch to its last.
Problem make_plain(const std::vector<Traced>& tensors);

// As `tight` above: live bytes stay within `share` of the plain problem's bound, or what one step touches.
Problem make_tight(const std::vector<Traced>& tensors, double share);

// Every tensor that stays idle for long leaves promptly and returns late, but for as many, drawn at random, as may stay
// within `share` of the plain problem's bound: what a planner makes of a budget.
Problem make_planned(const std::vector<Traced>& tensors, double share, uint64_t seed);

// Some 4 to 6 buffers a layer.
Problem make_trace(Trace trace, int layers, uint64_t seed);

}  // namespace plimsoll::placement
